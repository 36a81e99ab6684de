package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

func newHealthCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Show how those who wait for answers fare, and what follows from it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Show the last look: calls, p95, refusals, by class and feature",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runHealthShow(cmd.Context(), f) },
	}
	f.addOutputFlag(show)
	cmd.AddCommand(show, newHealthHoldCmd(f))
	return cmd
}

func newHealthHoldCmd(f *factory) *cobra.Command {
	end := false
	cmd := &cobra.Command{
		Use:   "hold DURATION",
		Short: "Keep the monitor from deciding for a while; what is paused stays so, what runs goes on",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := time.ParseDuration(firstArg(args))
			if !end && (err != nil || d <= 0) {
				return usageErrorf("hold %q: want a time such as 30m", firstArg(args))
			}
			return runHealthHold(cmd.Context(), f, d, end)
		},
	}
	cmd.Flags().BoolVar(&end, "end", false, "let the monitor decide again now")
	return cmd
}

func runHealthHold(ctx context.Context, f *factory, d time.Duration, end bool) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if end {
		if err := be.control().ReleaseMonitor(ctx, operator()); err != nil {
			return err
		}
		fmt.Fprintln(f.Out, "The health monitor decides again.")
		return nil
	}
	h, err := be.control().HoldMonitor(ctx, d, operator())
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Out, "The health monitor decides nothing until %s; nightshift health hold --end lets it decide before.\n", clock(h.Until, f.now()))
	return nil
}

func runHealthShow(ctx context.Context, f *factory) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	s, err := be.control().Status(ctx)
	if err != nil {
		return err
	}
	if f.opts.output == "table" {
		fmt.Fprintln(f.Out, healthSentence(s, f.now()))
		printSchedulers(f, s)
	}
	t := newTable("CLASS", "FEATURE", "CALLS", "P95", "FIRST TOKEN P95", "429S", "REFUSED", "OTHERWISE", "RATIO", "VERDICT").numeric(2, 3, 4, 5, 6, 7, 8)
	for _, r := range s.View.Rows {
		t.row(r.Class, orElse(r.Feature, "(all)"), humanize.Comma(r.Calls), seconds(r.P95.Duration()), seconds(r.FirstToken.Duration()),
			humanize.Comma(r.Provider429), humanize.Comma(r.Refused), humanize.Comma(r.Otherwise), percent(r.Ratio), healthVerdict(r))
	}
	if f.opts.output == "table" && len(t.rows) == 0 {
		return nil
	}
	return f.print(t, s)
}

func healthVerdict(r scheduler.FeatureHealth) string {
	switch {
	case r.Bad != "":
		return r.Bad
	case !r.Judged:
		return "part of its class"
	}
	return "well"
}

func printSchedulers(f *factory, s scheduler.Status) {
	if s.Leader != nil {
		fmt.Fprintf(f.Out, "leader: %s (up since %s); %s standing by\n", s.Leader.Name(), clock(s.Leader.Started, f.now()), plural(len(s.Standby), "scheduler"))
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(f.Out, "note: %s\n", told(w, f.now()))
	}
	for _, b := range s.Bypass {
		fmt.Fprintf(f.Out, "note: %s\n", b)
	}
	for queue, until := range s.Overrides {
		fmt.Fprintf(f.Out, "note: %s stays open over a health pause until %s\n", queue, clock(until, f.now()))
	}
}

// phaseWords say what a phase means for bulk.
var phaseWords = map[scheduler.Phase]string{
	scheduler.Healthy: "well, nothing is held back",
	scheduler.Yield:   "bad, bulk yields",
	scheduler.Paused:  "bad, bulk is paused",
	scheduler.Ramping: "well again, bulk comes back little by little",
	scheduler.Trickle: "bad and not by bulk, which goes on at a trickle",
}

// healthSentence is the monitor's state in a line.
func healthSentence(s scheduler.Status, now time.Time) string {
	if s.Leader == nil {
		return "not watched: no scheduler runs (nightshift scheduler)"
	}
	parts := []string{phaseWords[s.Phase]}
	if s.Phase != scheduler.Healthy {
		parts[0] += fmt.Sprintf(" since %s (%s)", clock(s.Since, now), s.Why)
	}
	if s.Hold != nil {
		parts = append(parts, fmt.Sprintf("held by %s until %s", s.Hold.By, clock(s.Hold.Until, now)))
	}
	return strings.Join(append(parts, healthRefusals(s.View)), "; ")
}

// healthRefusals says how many calls were refused of those that people wait for: for quota
// that all share, by which health is judged, and for other things.
func healthRefusals(v scheduler.View) string {
	var all scheduler.FeatureHealth
	for _, r := range v.Rows {
		if r.Feature == "" {
			all.Calls, all.Refused, all.Otherwise = all.Calls+r.Calls, all.Refused+r.Refused+r.Provider429, all.Otherwise+r.Otherwise
			all.OtherwiseBy = append(all.OtherwiseBy, r.OtherwiseBy...)
		}
	}
	span := lastWords(v.Over.Duration())
	switch {
	case all.Calls == 0:
		return "nobody called in the last " + span
	case all.Otherwise == 0:
		return fmt.Sprintf("%s of %s refused in the last %s", humanize.Comma(all.Refused), plural(int(all.Calls), "call"), span)
	}
	return fmt.Sprintf("%s of %s refused in the last %s for quota that all share, %s", humanize.Comma(all.Refused), plural(int(all.Calls), "call"), span,
		otherwiseWords(all.Otherwise, all.OtherwiseBy))
}

// otherwiseWords are of refusals that no other class has a part in.
func otherwiseWords(n int64, by []gemini.Count) string {
	text := humanize.Comma(n) + " more for limits of their own or other reasons"
	if causes := countWords(addedUp(by), number); causes != "" {
		text += " (" + causes + ")"
	}
	return text
}

// addedUp has each name once, the most first.
func addedUp(counts []gemini.Count) (out []gemini.Count) {
	sums := map[string]int64{}
	for _, c := range counts {
		sums[c.Name] += c.N
	}
	for name, n := range sums {
		out = append(out, gemini.Count{Name: name, N: n})
	}
	slices.SortFunc(out, func(a, b gemini.Count) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name)) })
	return out
}
