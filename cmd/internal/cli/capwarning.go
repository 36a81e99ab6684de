package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// capWarning is what a person should know of a run's own cap before going to bed: that
// not even its input fits under it, or that it lets few calls be under way at once,
// since each holds what it may cost at most until it has ended. "" for nothing; slots is
// how many calls the workers would make at once.
func (l *loaded) capWarning(run jobs.Run, p *jobs.Planned, slots int, now time.Time) string {
	most := run.Spec.Steer.MaxCost
	model := l.priceOf(run.Spec.Model)
	if most == 0 || model == "" || p == nil || p.Rows == 0 {
		return ""
	}
	cost := func(in, out int64) int64 {
		return l.prices().Bill(model, gemini.Usage{Prompt: in, Candidates: out, Tier: run.Spec.Steer.DearestTier()}, now).MicroUSD()
	}
	if all := cost(p.Input.Low, 0); all > most {
		return fmt.Sprintf("warning: the input alone costs %s, --max-cost is %s: nightshift set %s --max-cost %s",
			usd(all), usd(most), typed(run), dollarsUp(all*3/2))
	}
	if p.Cost != nil && p.Source != jobs.PlannedCap && p.Cost.Mid > most {
		return fmt.Sprintf("warning: it is expected to cost %s, --max-cost %s stops it before its end, at about %s of %s rows:\n"+
			"  nightshift set %s --max-cost %s", usd(p.Cost.Mid), usd(most), humanize.Comma(p.Rows*most/p.Cost.Mid), humanize.Comma(p.Rows),
			typed(run), dollarsUp(p.Cost.High*11/10))
	}
	longest, err := l.longestAnswer(run.Spec)
	if err != nil || run.Spec.Kind == jobs.Embed {
		return ""
	}
	row := max(cost(p.Input.Mid/p.Rows, longest), 1)
	fit, want := most/row, min(int64(slots), p.Rows)
	switch {
	case fit >= want && p.Cost != nil && p.Cost.High > most:
		return fmt.Sprintf("note: it may cost up to %s, and --max-cost stops it at %s; to let it go on then:\n  nightshift set %s --max-cost DOLLARS", usd(p.Cost.High), usd(most), typed(run))
	case fit >= want:
		return ""
	}
	return fmt.Sprintf("warning: --max-cost %s lets %s be in flight at once, not %d, since a row may cost %s: give\n"+
		"  --max-output-tokens (an answer may have %s now), or nightshift set %s --max-cost %s",
		usd(most), plural(int(fit), "call"), want, usd(row), humanize.Comma(longest), typed(run), dollarsUp(row*want))
}

// dollarsUp is an amount for a flag, not below what it stands for.
func dollarsUp(micro int64) string {
	return fmt.Sprintf("%.2f", math.Ceil(float64(micro)/10_000)/100)
}
