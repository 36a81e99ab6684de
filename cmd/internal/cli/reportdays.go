package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// reportDay is what everybody used of a limit of the run's model that is for a day.
type reportDay struct {
	Model  string    `json:"model"`
	Limit  string    `json:"limit"` // "rpd"
	Amount int64     `json:"amount"`
	From   time.Time `json:"from"` // of the provider's day
	Ends   time.Time `json:"ends"`
	Bulk   int64     `json:"bulk"`   // used by classes that may be paused, until the run ended
	People int64     `json:"people"` // by the others
}

// mostDays is how many days of a limit the page has: the last.
const mostDays = 3

// providerDay is when the provider's day of t began and when it ends: midnight in
// California (https://ai.google.dev/gemini-api/docs/rate-limits).
func providerDay(t time.Time) (from, ends time.Time) {
	z, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		z = time.UTC
	}
	y, m, d := t.In(z).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, z), time.Date(y, m, d+1, 0, 0, 0, 0, z)
}

// reportDays reads the days that the run was in, from their beginnings.
func (b *backend) reportDays(ctx context.Context, r *runReport, l limiter.LaneConfig, classes []limiter.Class) error {
	limits := slices.DeleteFunc(l.Limits.List(), func(x limiter.Limit) bool {
		return x.Window != limiter.Day || x.Unit == limiter.MicroUSD || x.Amount >= limiter.Unlimited
	})
	if len(limits) == 0 {
		return nil
	}
	from, _ := providerDay(r.From)
	for from.Before(r.To.AddDate(0, 0, 1-mostDays)) {
		_, from = providerDay(from)
	}
	in := reviewInput{from: from, to: r.To, classes: classes}
	var err error
	if in.minutes, in.hours, err = b.usageBetween(ctx, from, r.To, r.At); err != nil {
		return err
	}
	for _, lim := range limits {
		r.Days = append(r.Days, in.days(l.Lane, lim)...)
	}
	return nil
}

// days adds up one limit by day.
func (in reviewInput) days(lane limiter.Lane, lim limiter.Limit) (out []reportDay) {
	pausable := in.pausable()
	all := in.stretches(lane, lim.Unit)
	for from := in.from; !from.After(in.to); {
		d := reportDay{Model: lane.Model, Limit: lim.Name(), Amount: lim.Amount, From: from}
		_, d.Ends = providerDay(from)
		for _, s := range all {
			if s.at.Before(d.From) || !s.at.Before(d.Ends) {
				continue
			}
			for class, used := range s.used {
				if pausable[class] {
					d.Bulk += used
				} else {
					d.People += used
				}
			}
		}
		if d.Bulk+d.People > 0 {
			out = append(out, d)
		}
		from = d.Ends
	}
	return out
}

// dayNotes say it in a line each.
func (r *runReport) dayNotes() (notes []string) {
	for _, d := range r.Days {
		used := d.Bulk + d.People
		s := fmt.Sprintf("%s of %s, limit %s a day: %s used (%s) of the day that ends %s", d.Limit, d.Model, humanize.Comma(d.Amount),
			humanize.Comma(used), percent(ratio(used, d.Amount)), r.clock(d.Ends))
		if d.People > 0 {
			s += fmt.Sprintf(", %s of it by those who wait", humanize.Comma(d.People))
		}
		notes = append(notes, s+".")
	}
	return notes
}

// reportTier is what one service tier served of a run.
type reportTier struct {
	Tier     string `json:"tier"`
	Calls    int64  `json:"calls"`
	MicroUSD int64  `json:"micro_usd"`
}

// addTier counts a sample of the run's money, if a tier served it; the order is that of the names.
func (c *reportCost) addTier(s gemini.MoneySample) {
	if s.Tier == gemini.TierNone {
		return
	}
	at, found := slices.BinarySearchFunc(c.Tiers, s.Tier, func(t reportTier, name string) int { return strings.Compare(t.Tier, name) })
	if !found {
		c.Tiers = slices.Insert(c.Tiers, at, reportTier{Tier: s.Tier})
	}
	c.Tiers[at].Calls += s.Calls
	c.Tiers[at].MicroUSD += s.MicroUSD
}

// tierNote says which tiers served; "" where nobody asked for another than standard
// and none served.
func (r *runReport) tierNote() string {
	asked := r.Run.Spec.Steer.ServiceTier
	if len(r.Cost.Tiers) == 0 || asked == "" && len(r.Cost.Tiers) == 1 && r.Cost.Tiers[0].Tier == "standard" {
		return ""
	}
	var parts []string
	for _, t := range r.Cost.Tiers {
		parts = append(parts, fmt.Sprintf("%s %s for %s", t.Tier, callsOf(t.Calls), usd(t.MicroUSD)))
	}
	s := "By the tier that served: " + strings.Join(parts, ", ")
	if asked != "" {
		s += "; asked for was " + asked
	}
	return s + "."
}
