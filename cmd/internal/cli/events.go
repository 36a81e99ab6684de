package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

type eventsOptions struct {
	*factory
	Since string
	Kind  []string
	Max   int
}

// eventKinds are what --kind may name.
var eventKinds = []string{
	limiter.EventPause, limiter.EventResume, limiter.EventThrottle, limiter.EventLimits,
	limiter.EventBreaker, limiter.EventCooldown, limiter.EventFeedback, limiter.EventProvider, limiter.EventAlert,
	limiter.EventHealth, limiter.EventLease, limiter.EventKeys, gemini.EventRamp, scheduler.EventRun, scheduler.EventRecovered,
}

func newEventsCmd(f *factory) *cobra.Command {
	o := &eventsOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show what happened to everybody: pauses, limits, health, alerts, with cause",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runEvents(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Since, "since", "24h", "from when on: a `TIME` of day that has passed (22:00), a moment, or a time back (3h)")
	cmd.Flags().StringSliceVar(&o.Kind, "kind", nil, "only these `KINDS`: "+strings.Join(eventKinds, ", "))
	cmd.Flags().IntVar(&o.Max, "max", 500, "the latest `N` at most")
	f.addOutputFlag(cmd)
	return cmd
}

func runEvents(ctx context.Context, o *eventsOptions) error {
	since, err := past(o.Since, o.now())
	if err != nil {
		return usageErrorf("--since %s: %v", o.Since, err)
	}
	for _, k := range o.Kind {
		if err := oneOf("--kind", k, eventKinds...); err != nil {
			return &usageError{err}
		}
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	list, err := be.events(ctx, since, o.Kind, o.Max)
	if err != nil {
		return err
	}
	return o.printEvents(list, since)
}

// events gives the latest n of some kinds (none: all), oldest first.
func (b *backend) events(ctx context.Context, since time.Time, kinds []string, n int) ([]limiter.Event, error) {
	list, err := b.lim.Events(ctx, since, 0)
	if err != nil {
		return nil, err
	}
	if len(kinds) > 0 {
		list = slices.DeleteFunc(list, func(e limiter.Event) bool { return !slices.Contains(kinds, e.Kind) })
	}
	return byHappening(list[max(0, len(list)-n):]), nil
}

// byHappening puts events in the order in which they happened, which need not be that in
// which they were noticed.
func byHappening(list []limiter.Event) []limiter.Event {
	slices.SortStableFunc(list, func(a, b limiter.Event) int { return a.Happened().Compare(b.Happened()) })
	return list
}

// eventText is what happened, as people here read it; and when it was seen, where that
// was later.
func eventText(e limiter.Event, zone *time.Location) string {
	s := toldIn(e.Text, e.Happened(), zone)
	if at := e.Happened(); at.Before(e.At) {
		s += " (seen " + clockIn(e.At, at, zone) + ")"
	}
	return s
}

func (o *eventsOptions) printEvents(list []limiter.Event, since time.Time) error {
	if len(list) == 0 {
		o.say("nothing happened since %s", clock(since, o.now()))
		if o.opts.output != "json" {
			return nil
		}
		list = []limiter.Event{}
	}
	return o.print(eventTable(list, o.now()), list)
}

func eventTable(list []limiter.Event, now time.Time) *dataTable {
	t := newTable("AT", "KIND", "WHAT", "BY")
	for _, e := range list {
		t.row(clock(e.Happened(), now), e.Kind, eventText(e, time.Local), e.By)
	}
	return t
}

// past reads a time back from now, the latest such time of day, or a moment.
func past(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		t, err := time.ParseInLocation(layout, text, time.Local)
		if err != nil {
			continue
		}
		y, m, d := now.Local().Date()
		at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, time.Local)
		if at.After(now) {
			at = time.Date(y, m, d-1, t.Hour(), t.Minute(), t.Second(), 0, time.Local)
		}
		return at, nil
	}
	t, err := dayAndTime(text, time.Local)
	if err != nil {
		err = errors.New("want a time of day that has passed (22:00), a moment (2026-12-01T10:00) or a time back (3h)")
	}
	return t, err
}
