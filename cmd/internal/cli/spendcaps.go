package cli

import (
	"context"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// capsGoing are the money limits, and where they are going.
type capsGoing struct {
	caps   []scheduler.CapOutlook
	runs   map[string]jobs.Run             // by node, of caps of runs
	months map[string]gemini.SpendForecast // by node, of its cap of the month
}

// capsNow are the money limits for the command and the page.
func (b *backend) capsNow(ctx context.Context, now time.Time) (c capsGoing, err error) {
	if c.caps, err = b.control().Spend(ctx); err != nil {
		return c, err
	}
	var nodes, monthly []string
	for _, s := range c.caps {
		if nodes = append(nodes, s.Node); ofMonth(s) {
			monthly = append(monthly, s.Node)
		}
	}
	if c.runs, err = b.runsAt(ctx, nodes); err != nil || len(monthly) == 0 {
		return c, err
	}
	if c.months, err = b.monthsOf(ctx, monthly, now); err != nil {
		return c, err
	}
	for i := range c.caps {
		c.endMonth(&c.caps[i])
	}
	return c, nil
}

func ofMonth(c scheduler.CapOutlook) bool { return c.IsCap() && c.Window == limiter.Month }

// endMonth gives a cap of the month the end that `spend forecast` has for it, instead of
// one by its pace of late: one question, one answer. What stays below the cap does not
// reach it either.
func (e capsGoing) endMonth(c *scheduler.CapOutlook) {
	f, known := e.months[c.Node]
	if !known || !ofMonth(*c) {
		return
	}
	if c.AtEnd = f.Expected; f.Days > 0 && f.Expected <= c.Amount {
		c.Reached = time.Time{}
	}
}

// words say what a cap will be at its end and what that rests on; "" where it has none.
func (e capsGoing) words(c scheduler.CapOutlook, now time.Time) string {
	f, monthly := e.months[c.Node]
	switch {
	case monthly && ofMonth(c) && f.Days == 0:
		return "its end is not known yet, for no whole day is"
	case monthly && ofMonth(c):
		return "at its end about " + usd(c.AtEnd) + ", as spend forecast has it by " + plural(f.Days, "day")
	case c.AtEnd > 0:
		return "at its end about " + usd(c.AtEnd) + ", as since " + clock(c.Since, now)
	}
	return ""
}
