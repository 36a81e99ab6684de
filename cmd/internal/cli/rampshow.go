package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

func newRampListCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show all ramps, those that are over too",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			be, err := f.openFleet(cmd.Context(), "ramp")
			if err != nil {
				return err
			}
			defer be.close()
			all, err := be.ramps("").Store.Ramps(cmd.Context())
			if err != nil {
				return err
			}
			return f.printRamps(all)
		},
	}
	f.addOutputFlag(cmd)
	return cmd
}

func (f *factory) printRamps(all []gemini.Ramp) error {
	if len(all) == 0 {
		f.say("no ramps; `nightshift ramp start` begins one")
	}
	t := newTable("SCOPE", "FROM", "TO", "SHARE", "STATE", "SINCE", "WHY").numeric(3)
	rows := []rampRow{}
	for _, r := range all {
		t.row(r.Scope, r.From, r.To, limiter.Share(r.SharePPM()), rampState(r), clock(stateSince(r), f.now()), r.Why)
		rows = append(rows, rampRowOf(r))
	}
	if len(all) == 0 && f.opts.output != "json" {
		return nil
	}
	return f.print(t, rows)
}

func rampState(r gemini.Ramp) string {
	switch {
	case r.Phase == gemini.RampMoving && r.Arrived():
		return "all moved"
	case r.Phase == gemini.RampMoving:
		return fmt.Sprintf("moving, step %d of %d", r.Step+1, len(r.Steps))
	case r.Phase == gemini.RampBad:
		return "stands still: bad"
	case r.Phase == gemini.RampHeld:
		return "held by " + r.HeldBy
	case r.Phase == gemini.RampRolledBack:
		return "rolled back by " + r.HeldBy
	}
	return string(r.Phase)
}

// stateSince is since when rampState holds: a share since it was reached, however often
// the ramp stood still or was held at it since then.
func stateSince(r gemini.Ramp) time.Time {
	if r.Phase == gemini.RampMoving {
		return r.Changed
	}
	return r.Since
}

func newRampShowCmd(f *factory) *cobra.Command {
	cmd, _ := newRampAct(f, "show", "Show how far a ramp is, how the moved calls fare, and what it waits for", "",
		func(ctx context.Context, o *rampOptions, be *backend, _ *scheduler.Ramps, r gemini.Ramp) error {
			s, err := be.control().Status(ctx)
			if err != nil {
				return err
			}
			return o.printRamp(r, scheduler.RampLimitsOver(r.Limits, be.conf.rampRules().Limits), s)
		})
	f.addOutputFlag(cmd)
	return cmd
}

func (o *rampOptions) printRamp(r gemini.Ramp, l gemini.RampLimits, s scheduler.Status) error {
	l = scheduler.RampLimitsOver(l, scheduler.DefaultRampLimits)
	if o.opts.output == "table" {
		o.describeRamp(r, l, s)
	}
	t := newTable("CALLS THAT", "CALLS", "REFUSED", "FAILED", "OTHER ANSWER", "P95", "FIRST TOKEN P95").numeric(1, 2, 3, 4, 5, 6)
	for _, side := range []struct {
		name string
		f    gemini.RampFigures
	}{{"are moved", r.Seen.Moved}, {"stay", r.Seen.Stayed}} {
		t.row(side.name, humanize.Comma(side.f.Calls), humanize.Comma(side.f.Refused), humanize.Comma(side.f.Failed), humanize.Comma(side.f.Degraded),
			dashIf(side.f.N == 0, side.f.P95), dashIf(side.f.Streams == 0, side.f.FirstToken))
	}
	row := rampRowOf(r)
	row.Watched = s.Leader != nil && s.At.Sub(r.Looked) < rampFresh
	return o.print(t, row)
}

func dashIf(none bool, d time.Duration) string {
	if none {
		return "-"
	}
	return seconds(d)
}

// describeRamp says in lines what the table does not.
func (o *rampOptions) describeRamp(r gemini.Ramp, l gemini.RampLimits, s scheduler.Status) {
	now := o.now()
	line := func(format string, a ...any) { fmt.Fprintf(o.Out, format+"\n", a...) }
	line("%s: %s of the callers since %s; %s since %s", rampTitle(r), limiter.Share(r.SharePPM()), clock(r.Changed, now), rampState(r), clock(stateSince(r), now))
	if r.Why != "" {
		line("why: %s", r.Why)
	}
	if r.Active() {
		line("%s", rampNext(r, l, now))
	}
	line("steps %s over %s; one model for each %s; started %s by %s", sharesText(r.Steps), r.Over, keptTogether(r.Sticky), clock(r.Started, now), r.By)
	line("stands still over: %s", holdText(l))
	switch {
	case !r.Active():
	case s.Leader == nil:
		line("note: no scheduler runs: nobody moves it on, nor sees when it goes badly (nightshift scheduler)")
	case r.Looked.IsZero():
		line("note: the scheduler has not looked yet")
	case s.At.Sub(r.Looked) > rampFresh:
		line("note: nobody has looked since %s", clock(r.Looked, now))
	}
	if len(r.Seen.Unfit) > 0 {
		line("stay since the request does not fit %s: %s", r.To, countsText(r.Seen.Unfit))
	}
	if !r.Looked.IsZero() {
		line("calls of the last %s, seen %s:", ago(r.Seen.Over), clock(r.Looked, now))
	}
}

// rampNext is what a ramp waits for.
func rampNext(r gemini.Ramp, l gemini.RampLimits, now time.Time) string {
	left, short := r.StepTime()-r.Ramped, l.Samples-r.Moved
	var wants []string
	if left > 0 {
		wants = append(wants, ago(left)+" of good time")
	}
	if short > 0 {
		wants = append(wants, fmt.Sprintf("%s more (%d of %d at this step counted up to %s)", plural(int(short), "moved call"), r.Moved, l.Samples, clock(r.Counted, now)))
	}
	switch {
	case r.Phase == gemini.RampHeld:
		return "next: nothing until nightshift ramp resume " + r.Scope.String()
	case r.Phase == gemini.RampBad:
		return "next: it goes on once the moved calls are well, or goes back with nightshift ramp rollback " + r.Scope.String()
	case r.Last() && len(wants) == 0:
		return "next: nightshift ramp finish " + r.Scope.String()
	case r.Last():
		return "next: ready to be finished after " + strings.Join(wants, " and ")
	case len(wants) == 0:
		return fmt.Sprintf("next: %s once a look finds the moved calls well", limiter.Share(r.Steps[r.Step+1]))
	}
	return fmt.Sprintf("next: %s after %s", limiter.Share(r.Steps[r.Step+1]), strings.Join(wants, " and "))
}

func sharesText(steps []int64) string {
	var out []string
	for _, s := range steps {
		out = append(out, limiter.Share(s))
	}
	return strings.Join(out, ", ")
}

func keptTogether(s gemini.RampSticky) string {
	if s == gemini.StickyKey {
		return "key"
	}
	return string(s) + " (or x-nightshift-session)"
}

func holdText(l gemini.RampLimits) string {
	return fmt.Sprintf("%s refused; %s failed or %s with another answer, more than of those that stay; p95 %s, first token %s, or %.3g × those that stay (from %s on)",
		limiter.Share(l.RefusedPPM), limiter.Share(l.FailedPPM), limiter.Share(l.DegradedPPM), seconds(l.P95), seconds(l.FirstToken),
		float64(l.SlowerPPM)/ppm, plural(int(l.Samples), "call"))
}

func countsText(m map[string]int64) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %s", k, humanize.Comma(m[k])))
	}
	return strings.Join(out, ", ")
}
