package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// capWarning is what a person should know of a run's own cap before going to bed: that
// the run is not expected to end under it, and that it lets few calls be under way at
// once, since each holds what it may cost at most until it has ended. "" for nothing;
// slots is how many calls the workers would make at once.
func (l *loaded) capWarning(run jobs.Run, p *jobs.Planned, slots int, now time.Time) string {
	model := l.priceOf(run.Spec.Model)
	if run.Spec.Steer.MaxCost == 0 || model == "" || p == nil || p.Rows == 0 {
		return ""
	}
	cost := func(in, out int64) int64 {
		return l.prices().Bill(model, gemini.Usage{Prompt: in, Candidates: out, Tier: run.Spec.Steer.DearestTier()}, now).MicroUSD()
	}
	c := capLook{name: typed(run), most: run.Spec.Steer.MaxCost, input: cost(p.Input.Low, 0), rows: p.Rows, want: min(int64(slots), p.Rows)}
	if p.Cost != nil {
		c.highest = p.Cost.High
		if p.Source != jobs.PlannedCap {
			c.expected = *p.Cost
		}
	}
	c.bounded = run.Spec.Settings.MaxOutputTokens > 0
	if longest, err := l.longestAnswer(run.Spec); err == nil && run.Spec.Kind != jobs.Embed {
		c.longest, c.call = longest, max(cost(p.Input.Mid/p.Rows, longest), 1)
	}
	return strings.Join(slices.DeleteFunc([]string{c.ends(), c.atOnce()}, func(s string) bool { return s == "" }), "\n")
}

// capLook is a run's cap beside what the run needs, in micro-dollars.
type capLook struct {
	name     string    // as it is typed
	most     int64     // the cap
	input    int64     // what the input alone costs
	expected jobs.Span // the zero one: nobody knows
	highest  int64     // with the longest answers where nobody knows; 0: not known
	call     int64     // what one may cost; 0: not known
	longest  int64     // its answer, in tokens
	bounded  bool      // by --max-output-tokens
	rows     int64
	want     int64 // calls at once
}

// enough is a cap that lets the run end.
func (c capLook) enough() int64 {
	return scheduler.EnoughCap(0, max(c.expected.High, c.input*3/2), c.call)
}

// ends says that the run is not expected to end under its cap; "" where it is.
func (c capLook) ends() string {
	set := fmt.Sprintf("nightshift set %s --max-cost %s", c.name, scheduler.CapDollars(c.enough()))
	switch {
	case c.input > c.most && c.expected.Mid == 0:
		return fmt.Sprintf("warning: the input alone costs %s, --max-cost is %s (what answers cost is not known: nightshift sample tells):\n  %s", usd(c.input), usd(c.most), set)
	case c.expected.Mid > c.most:
		return fmt.Sprintf("warning: it is expected to cost %s, --max-cost %s stops it before its end, at about %s of %s rows:\n  %s",
			spanUSD(c.expected), usd(c.most), humanize.Comma(c.rows*c.most/c.expected.Mid), humanize.Comma(c.rows), set)
	case c.highest > c.most && c.call > 0 && c.most/c.call >= c.want:
		return fmt.Sprintf("note: it may cost up to %s, and --max-cost stops it at %s; to let it go on then:\n  nightshift set %s --max-cost %s",
			usd(c.highest), usd(c.most), c.name, scheduler.CapDollars(scheduler.EnoughCap(0, c.highest, c.call)))
	}
	return ""
}

// atOnce says that the cap lets fewer calls be under way than the workers would make;
// "" where it does not.
func (c capLook) atOnce() string {
	if c.call == 0 || c.most/c.call >= c.want {
		return ""
	}
	remedy := fmt.Sprintf("--max-output-tokens N holds less for each (an answer may have %s tokens now)", humanize.Comma(c.longest))
	if c.bounded {
		remedy = fmt.Sprintf("a smaller --max-output-tokens holds less for each (it is %s now)", humanize.Comma(c.longest))
	}
	calls := plural(int(c.most/c.call), "call")
	if c.most < c.call {
		calls = "no call"
	}
	return fmt.Sprintf("warning: --max-cost %s lets %s be in flight at once, not %d, since each holds the %s that it may cost.\n"+
		"  %s;\n  or nightshift set %s --max-cost %s",
		usd(c.most), calls, c.want, usd(c.call), remedy, c.name, scheduler.CapDollars(max(c.enough(), c.call*c.want)))
}
