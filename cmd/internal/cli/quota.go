package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter"
)

func newQuotaCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "Show what is used, held and waited for, by limit",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &cobra.Command{
		Use:   "show [MODEL]",
		Short: "Show each lane's limits: used, protected, booked, next free",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runQuotaShow(cmd.Context(), f, firstArg(args)) },
	}
	f.addOutputFlag(show)
	cmd.AddCommand(show, newQuotaWhoCmd(f))
	return cmd
}

func runQuotaShow(ctx context.Context, f *factory, model string) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	states, err := be.laneStates(ctx, model)
	if err != nil {
		return err
	}
	if len(states) == 0 {
		return noLane(model, nil)
	}
	if f.opts.output == "json" {
		return f.print(nil, states)
	}
	for i, s := range states {
		if i > 0 {
			fmt.Fprintln(f.Out)
		}
		if err := f.printLane(s); err != nil {
			return err
		}
	}
	return nil
}

func equalModel(name string, l limiter.Lane) bool { return strings.EqualFold(name, l.Model) }

func noLane(model string, lanes []limiter.LaneConfig) error {
	if len(lanes) == 0 {
		return fmt.Errorf("no limits are known to the shared state yet: a worker or an enqueue brings those of its configuration")
	}
	var known []string
	for _, l := range lanes {
		known = append(known, l.Lane.Model)
	}
	return usageErrorf("no lane %q; known are %s", model, strings.Join(known, ", "))
}

// printLane is one lane: its limits, who uses them, who waits.
func (f *factory) printLane(s limiter.LaneState) error {
	if f.opts.output != "plain" {
		fmt.Fprintf(f.Out, "%s  %s in flight, %s waiting\n", s.Lane, humanize.Comma(s.InFlight), humanize.Comma(waiting(s)))
		f.printHolds(s)
	}
	t := newTable("LIMIT", "CONFIGURED", "EFFECTIVE", "USED", "BOOKED", "CLASS", "USES", "PROTECTED", "LENT", "ROOM", "NEXT FREE").numeric(1, 2, 3, 4, 6, 7, 8, 9)
	for _, l := range s.Limits {
		first := true
		for _, c := range l.Classes {
			if c.Used == 0 && c.Protected == 0 && c.Class != "bulk" && c.Class != "interactive" {
				continue
			}
			if first {
				t.row(l.Name, amount(l.Unit, l.Amount), amount(l.Unit, l.Effective), amount(l.Unit, l.Used), amount(l.Unit, l.Booked),
					c.Class, amount(l.Unit, c.Used), amount(l.Unit, c.Protected), amount(l.Unit, c.Lent), amount(l.Unit, c.Room), f.nextFree(l, s.At))
			} else {
				t.row("", "", "", "", "", c.Class, amount(l.Unit, c.Used), amount(l.Unit, c.Protected), amount(l.Unit, c.Lent), amount(l.Unit, c.Room), "")
			}
			first = false
		}
	}
	if err := f.print(t, s); err != nil || f.opts.output == "plain" {
		return err
	}
	f.printWhy(s)
	return nil
}

// printWhy says where the shares come from: what is protected for whom, and who
// may not use all there is. What holds for several limits is said once.
func (f *factory) printWhy(s limiter.LaneState) {
	type said struct{ class, why string }
	limits := map[said][]string{}
	var order []said
	for _, l := range s.Limits {
		for _, c := range l.Classes {
			if k := (said{c.Class, c.Why}); c.Why != "" {
				if limits[k] == nil {
					order = append(order, k)
				}
				limits[k] = append(limits[k], l.Name)
			}
		}
	}
	for _, k := range order {
		fmt.Fprintf(f.Out, "%s (%s): %s\n", k.class, strings.Join(limits[k], ", "), k.why)
	}
}

// nextFree is when the oldest use leaves, on our clock.
func (f *factory) nextFree(l limiter.LimitState, at time.Time) string {
	switch {
	case l.NextFree.IsZero():
		return ""
	case l.Window == limiter.Day:
		return clock(l.NextFree, f.now()) + " (Pacific midnight)"
	}
	if d := l.NextFree.Sub(at); d >= time.Second {
		return "in " + ago(d)
	}
	return "now"
}

func waiting(s limiter.LaneState) int64 {
	var n int64
	for _, l := range s.Leaves {
		n += l.Waiting
	}
	return n
}

// printHolds says what keeps a whole lane or class from starting.
func (f *factory) printHolds(s limiter.LaneState) {
	if c := s.Cooldown; c != nil {
		fmt.Fprintf(f.Out, "resting until %s: %s\n", clock(c.Until, f.now()), strings.TrimSpace(string(c.Reason)+" "+c.Detail))
	}
	for _, p := range together(s.Pauses, func(p *limiter.Pause) *string { return &p.Class }) {
		fmt.Fprintln(f.Out, pauseSentence(&p, f.now()))
	}
	for _, t := range together(s.Throttles, func(t *limiter.Throttle) *string { return &t.Class }) {
		fmt.Fprintln(f.Out, throttleSentence(t, f.now()))
	}
}

// amount prints money as dollars and everything else as a count.
func amount(u limiter.Unit, n int64) string {
	if u == limiter.MicroUSD {
		return usd(n)
	}
	return humanize.Comma(n)
}
