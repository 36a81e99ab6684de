package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
)

func newWatchCmd(f *factory) *cobra.Command {
	o := &statusOptions{factory: f}
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Runs, queues, lanes and health on a full screen, with keys to pause, resume and cancel",
		Long: "Keys: up and down choose a run; p pauses it, r resumes it, c cancels it; b pauses bulk, B resumes it; each asks\n" +
			"first. q ends. Where the output is no terminal it writes a line at each look, and each event as it comes.\n" +
			"With RUN it is status RUN again and again; --output json is a document at each look.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = firstArg(args)
			if cmd.Flags().Changed("every") && every <= 0 {
				return usageErrorf("--every %s: a time above nothing, such as 2s", every)
			}
			return runWatch(cmd.Context(), o, every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", 0, "time between two looks (default 1s on a screen, 2s of one RUN, 10s elsewhere)")
	f.addOutputFlag(cmd)
	return cmd
}

// runWatch shows the state again and again.
func runWatch(ctx context.Context, o *statusOptions, every time.Duration) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	screen := terminal(o.Out) && terminal(o.In) && os.Getenv("TERM") != "dumb"
	switch {
	case o.Ref != "" || o.opts.output == "json":
		return o.again(ctx, orEvery(every, 2*time.Second), func() error { return o.lookAgain(ctx, be) })
	case screen && o.opts.output == "table":
		return be.watchScreen(ctx, o.streams, orEvery(every, time.Second))
	}
	seen := o.now()
	return o.again(ctx, orEvery(every, 10*time.Second), func() error {
		v, err := be.overview(ctx, o.now())
		if err == nil {
			seen = printLook(o.streams, v, seen)
		}
		return err
	})
}

func orEvery(every, other time.Duration) time.Duration {
	if every == 0 {
		return other
	}
	return every
}

func (o *statusOptions) lookAgain(ctx context.Context, be *backend) error {
	if o.opts.output != "json" {
		fmt.Fprintf(o.Out, "%s\n\n", o.now().Local().Format("15:04:05 MST"))
	}
	if o.Ref != "" {
		return o.one(ctx, be)
	}
	return o.all(ctx, be)
}

// printLook writes the events since the last look, and a line of what is.
func printLook(s *streams, v *overview, since time.Time) time.Time {
	for _, e := range v.Events {
		if e.At.After(since) {
			fmt.Fprintf(s.Out, "%s %s: %s\n", e.Happened().Local().Format("15:04:05 MST"), e.Kind, eventText(e, time.Local))
			since = e.At
		}
	}
	parts := []string{"health " + v.Health.Phrase(), plural(len(v.Fleet), "worker")}
	for _, p := range together(v.Pauses, func(p *limiter.Pause) *string { return &p.Class }) {
		parts = append(parts, p.Target()+" paused ("+p.Reason+")")
	}
	if n := len(v.Alerts); n > 0 {
		parts = append(parts, plural(n, "alert")+" (nightshift alerts)")
	}
	for _, r := range v.Runs {
		if r.counts.Open() > 0 {
			parts = append(parts, r.inShort())
		}
	}
	fmt.Fprintf(s.Out, "%s %s\n", v.At.Local().Format("15:04:05 MST"), strings.Join(parts, "; "))
	return since
}

// inShort is a run in a few words: "night 40 of 1,000, 12 in flight".
func (r runStatus) inShort() string {
	c := r.counts
	s := fmt.Sprintf("%s %s of %s", orElse(r.Name, r.ID), humanize.Comma(c.Total()-c.Open()), humanize.Comma(c.Total()))
	if c[jobs.Running] > 0 {
		s += fmt.Sprintf(", %s in flight", humanize.Comma(c[jobs.Running]))
	}
	if bad := r.failed(); bad > 0 {
		s += fmt.Sprintf(", %s failed", humanize.Comma(bad))
	}
	return s
}

// openFirst are the runs as the screen has them: those with rows to do first.
func openFirst(runs []runStatus) []runStatus {
	out := slices.Clone(runs)
	slices.SortStableFunc(out, func(a, b runStatus) int {
		switch ao, bo := a.counts.Open() > 0, b.counts.Open() > 0; {
		case ao == bo:
			return 0
		case ao:
			return -1
		}
		return 1
	})
	return out
}
