package tenants

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// By what use may be told apart; "" does not.
var usageBy = map[string]func(gemini.TenantUse) string{
	"":        func(gemini.TenantUse) string { return "" },
	"feature": func(u gemini.TenantUse) string { return u.Feature },
	"model":   func(u gemini.TenantUse) string { return u.Model },
	"team":    func(u gemini.TenantUse) string { return u.Team },
	"key":     func(u gemini.TenantUse) string { return u.Key },
}

// UsageQuery asks what a tenant used. From and To are days (2026-11-30, both included)
// or moments (RFC 3339, the second not included); "" is the month's first and now, or the
// last 24 hours in steps of an hour.
type UsageQuery struct {
	Tenant    string
	From, To  string
	Step      string // "day" (default) or "hour"
	By        string // feature, model, team, key; "" is all together
	Team, Key string // only of these
}

// Usage is the answer: JSON of it, or CSV.
type Usage struct {
	Tenant string       `json:"tenant"`
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"` // not included
	Step   string       `json:"step"`
	By     string       `json:"by,omitempty"`
	Zone   string       `json:"zone"` // of days
	Rows   []UsageRow   `json:"rows"` // in the order of time, then of names; steps without calls are left out
	Totals []UsageTotal `json:"totals"`
	Total  UsageTotal   `json:"total"`
}

// UsageRow is what one name used in one step.
type UsageRow struct {
	From time.Time `json:"from"`
	Name string    `json:"name"` // "" is none, "other" what is not told apart
	gemini.UseCounts
}

// UsageTotal is what one name used in all.
type UsageTotal struct {
	Name string `json:"name"`
	gemini.UseCounts
}

// Usage adds up what a tenant used.
func (b *Book) Usage(ctx context.Context, q UsageQuery) (*Usage, error) {
	by, ok := usageBy[q.By]
	u := &Usage{Tenant: q.Tenant, Step: cmp.Or(q.Step, "day"), By: q.By, Zone: b.zone().String(), Rows: []UsageRow{}, Totals: []UsageTotal{}}
	bad := []error{u.interval(q, b.now().In(b.zone()))}
	if !ok {
		bad = append(bad, wrong("by", "%q: want feature, model, team or key", cut(q.By)))
	}
	if err := wrongIf(bad...); err != nil {
		return nil, err
	}
	got, err := gemini.ReadUse(ctx, b.Redis, b.Scope, gemini.UseQuery{Tenant: q.Tenant, From: u.From, To: u.To, Hours: u.Step == "hour", Zone: b.zone()})
	if err != nil {
		return nil, err
	}
	for _, x := range got {
		if (q.Team == "" || q.Team == x.Team) && (q.Key == "" || q.Key == x.Key) {
			u.add(x.At.In(b.zone()), by(x), x.UseCounts)
		}
	}
	u.order()
	return u, nil
}

// interval reads from when to when.
func (u *Usage) interval(q UsageQuery, now time.Time) (err error) {
	kept := gemini.UseDaysKept * 24 * time.Hour
	u.From, u.To = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location()), now
	switch u.Step {
	case "day":
	case "hour":
		kept, u.From = gemini.UseHoursKept*time.Hour, now.Add(-23*time.Hour).Truncate(time.Hour)
	default:
		return wrong("step", "%q: want day or hour", cut(u.Step))
	}
	var bad []error
	if q.From != "" {
		u.From, err = moment("from", q.From, now, 0)
		bad = append(bad, err)
	}
	if q.To != "" {
		u.To, err = moment("to", q.To, now, 1)
		bad = append(bad, err)
	}
	if err := wrongIf(bad...); err != nil {
		return err
	}
	if u.Step == "day" { // of which there are whole ones only
		u.From = time.Date(u.From.Year(), u.From.Month(), u.From.Day(), 0, 0, 0, 0, now.Location())
	} else {
		u.From = u.From.Truncate(time.Hour)
	}
	switch {
	case !u.From.Before(u.To):
		return wrong("from", "%s is not before the end, %s", u.From.Format(time.RFC3339), u.To.Format(time.RFC3339))
	case u.From.Before(now.Add(-kept - 24*time.Hour)):
		return wrong("from", "%s: use by the %s is kept for %d days", u.From.Format(time.RFC3339), u.Step, int(kept.Hours()/24))
	case u.To.Sub(u.From) > kept+48*time.Hour:
		return wrong("to", "%s: that is more than %d days", u.To.Format(time.RFC3339), int(kept.Hours()/24))
	}
	return nil
}

// moment reads a day, or the day after it, or a moment.
func moment(field, text string, now time.Time, more int) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day.AddDate(0, 0, more), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return at, wrong(field, "%q: want a day such as 2026-11-30 or a moment such as 2026-11-30T22:00:00Z", cut(text))
	}
	return at.In(now.Location()), nil
}

func (u *Usage) add(at time.Time, name string, c gemini.UseCounts) {
	u.Total.Add(c)
	i := slices.IndexFunc(u.Totals, func(t UsageTotal) bool { return t.Name == name })
	if i < 0 {
		i, u.Totals = len(u.Totals), append(u.Totals, UsageTotal{Name: name})
	}
	u.Totals[i].Add(c)
	for n := len(u.Rows) - 1; n >= 0 && u.Rows[n].From.Equal(at); n-- {
		if u.Rows[n].Name == name {
			u.Rows[n].Add(c)
			return
		}
	}
	u.Rows = append(u.Rows, UsageRow{From: at, Name: name, UseCounts: c})
}

func (u *Usage) order() {
	slices.SortStableFunc(u.Rows, func(a, b UsageRow) int { return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Name, b.Name)) })
	slices.SortFunc(u.Totals, func(a, b UsageTotal) int {
		return cmp.Or(cmp.Compare(b.MicroUSD, a.MicroUSD), cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Name, b.Name))
	})
}

// CSV writes the rows as a table, with a head.
func (u *Usage) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"from", "tenant", cmp.Or(u.By, "name"), "calls", "requests", "input_tokens", "output_tokens", "micro_usd", "refused", "own_limit", "provider_429"}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range u.Rows {
		line := []string{r.From.Format(time.RFC3339), csvSafe(u.Tenant), csvSafe(r.Name)}
		for _, n := range []int64{r.Calls, r.Requests, r.InputTokens, r.OutputTokens, r.MicroUSD, r.Refused, r.OwnLimit, r.Provider429} {
			line = append(line, strconv.FormatInt(n, 10))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvSafe keeps a name from being a formula where a table is opened.
func csvSafe(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
