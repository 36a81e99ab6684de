package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter/gemini"
)

// culpritUnits are the dimensions that the page of who used the quota has.
var culpritUnits = []string{"rpm", "input_tpm", "output_tpm"}

// dashboardWho fills the table that finds the culprit.
func (b *backend) dashboardWho(ctx context.Context, ask dashboard.WhoQuery) (v dashboard.WhoView, err error) {
	now := time.Now()
	ask.From, ask.By = orElse(ask.From, "1h"), orElse(ask.By, "feature")
	v.Asked, v.Bys = ask, []dashboard.ChoiceView{{Value: "feature", Text: "features"}, {Value: "class", Text: "classes"}, {Value: "tenant", Text: "tenants"}}
	if v.Models, err = b.models(ctx); err != nil {
		return v, err
	}
	from, to, err := interval(ask.From, ask.To, now)
	if err == nil {
		err = oneOf("--by", ask.By, "feature", "class", "tenant")
	}
	if err != nil {
		v.Problem = err.Error()
		return v, nil
	}
	if err := b.knowsModel(ctx, ask.Model); err != nil {
		v.Problem = err.Error()
		return v, nil
	}
	who, err := b.who(ctx, gemini.WhoQuery{From: from, To: to, By: gemini.GroupBy(ask.By), Model: ask.Model})
	if err != nil {
		return v, err
	}
	v.From, v.To = who.From, who.To
	for _, unit := range culpritUnits {
		u := dashboard.WhoUnit{Name: unit}
		if n := who.Limits[unit]; n > 0 {
			u.Limit = humanize.Comma(n)
		}
		v.Units = append(v.Units, u)
	}
	v.Rows, v.Found = whoRows(who.Rows, who.To.Sub(who.From), ask)
	b.addFindings(&v, who, now)
	v.Command = fmt.Sprintf("nightshift quota who --from %s --to %s --by %s%s", who.From.Local().Format(time.RFC3339), who.To.Local().Format(time.RFC3339), ask.By, space(shellWordOf(ask.Model)))
	return v, nil
}

// whoRows are a page of those whose names have the text.
func whoRows(rows []gemini.WhoRow, span time.Duration, ask dashboard.WhoQuery) (out []dashboard.WhoRow, found int) {
	text := strings.ToLower(ask.Text)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r gemini.WhoRow) bool { return !strings.Contains(strings.ToLower(r.Name+" "+r.Class), text) })
	for _, r := range onPage(rows, ask.Page, dashboard.WhoOnPage) {
		u := &userOfQuota{Feature: r.Name, Class: r.Class, Use: r.Use, sum: r.Sum}
		u.fill(span.Minutes())
		x := dashboard.WhoRow{Name: orElse(r.Name, "(none)"), Class: r.Class, Requests: u.Requests, Tokens: u.Tokens, Cost: usd(u.MicroUSD), Refused: u.Refused, OwnLimit: u.OwnLimit,
			Rejected: u.Provider429, P95: time.Duration(u.P95MS) * time.Millisecond}
		for _, unit := range culpritUnits {
			x.Use = append(x.Use, whoUse(useOf(r.Use, unit)))
		}
		out = append(out, x)
	}
	return out, len(rows)
}

// whoUse is in parts of the limit, where there is one.
func whoUse(u gemini.UnitUse) dashboard.WhoUse {
	out := dashboard.WhoUse{Unit: u.Unit, Share: millionths(u.Share)}
	switch {
	case u.Sum == 0:
	case u.OfAvg > 0 || u.OfMax > 0:
		out.Avg, out.Peak = "avg "+percent(millionths(u.OfAvg)), "peak "+percent(millionths(u.OfMax))
	default:
		out.Avg, out.Peak = "avg "+humanize.CommafWithDigits(float64(u.Avg)/1000, 1), "peak "+humanize.Comma(u.Peak)
	}
	return out
}

// whoAdvice is what to do about who had the quota while people waited: a class that may be
// paused, or people themselves.
func whoAdvice(culprit, model string) dashboard.AdviceView {
	if culprit != "" {
		return dashboard.AdviceView{Level: dashboard.Note, Text: "If it goes on, pause " + culprit + " for half an hour. So that it does not come back, this says what to reserve:", Command: "nightshift quota review"}
	}
	query := ""
	if model != "" {
		query = url.Values{"lane": {model}}.Encode()
	}
	return dashboard.AdviceView{Level: dashboard.Note, Text: "It is itself what people wait for:",
		Links: []dashboard.LinkView{{Path: "/", Query: query, Text: "see which limit is full"}, {Path: "/steer", Text: "raise it"}}}
}

// addFindings says what the table's reader looks for.
func (b *backend) addFindings(v *dashboard.WhoView, who *gemini.Who, now time.Time) {
	o := who.Overlap
	if o == nil || len(o.Rows) == 0 {
		text := nobodySuffered(who)
		if len(who.Rows) > 0 {
			r := who.Rows[0]
			text += fmt.Sprintf(" %s (%s) used most: %s of the requests, %s of the input tokens.", orElse(r.Name, "(none)"), r.Class,
				percent(millionths(useOf(r.Use, "rpm").Share)), percent(millionths(useOf(r.Use, "input_tpm").Share)))
		}
		v.Findings = append(v.Findings, dashboard.AdviceView{Text: text})
		return
	}
	most := o.Rows[0]
	for _, c := range b.conf.classTable() {
		if c.Name == most.Class && c.Pausable {
			v.Culprit = c.Name
		}
	}
	v.Findings = append(v.Findings, dashboard.AdviceView{Level: dashboard.Bad, Text: b.whoFindings(who, now)[0]}, whoAdvice(v.Culprit, v.Asked.Model))
	over := &dashboard.OverlapView{Text: fmt.Sprintf("%s between %s and %s", plural(int(o.Minutes), "minute"), clock(o.First, now), clock(o.Last, now))}
	over.Rows, over.Found = whoRows(o.Rows, time.Duration(o.Minutes)*time.Minute, dashboard.WhoQuery{})
	over.Rows = over.Rows[:min(len(over.Rows), 10)]
	v.Overlap = over
}
