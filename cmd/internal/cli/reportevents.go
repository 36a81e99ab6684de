package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// mostEvents are shown of those that mattered; the rest is counted.
const mostEvents = 25

// quietEvents are those that say nothing of a run's night.
var quietEvents = []string{limiter.EventLease, limiter.EventKeys}

// reportEvents are what happened to everybody, and to this run, while it went on.
func (b *backend) reportEvents(ctx context.Context, r *runReport) error {
	list, err := b.lim.Events(ctx, r.From.Add(-time.Second), 0)
	if err != nil {
		return err
	}
	return b.addEvents(ctx, r, list)
}

// addEvents adds those of a list that concern the run.
func (b *backend) addEvents(ctx context.Context, r *runReport, list []limiter.Event) error {
	others, err := b.otherRunTitles(ctx, r.Run.ID)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Kind == limiter.EventLimits && e.At.Before(r.From.Add(10*time.Second)) {
			continue // what the run itself brought
		}
		if slices.Contains(quietEvents, e.Kind) || r.ofAnother(e, others) || r.ofOthers(e) {
			continue
		}
		r.addEvent(e)
	}
	return nil
}

// addEvent puts what repeats in one line.
func (r *runReport) addEvent(e limiter.Event) {
	if r.toldTwice(e) {
		return
	}
	if n := len(r.Events); n > 0 {
		last := &r.Events[n-1]
		if last.Kind == e.Kind && last.Subject == e.Subject && sameWords(last.Text, e.Text) {
			last.Times++
			return
		}
	}
	r.Events = append(r.Events, reportEvent{Event: e, Times: 1})
}

// toldTwice holds for a stop that is an alert and an event of the run's life too.
func (r *runReport) toldTwice(e limiter.Event) bool {
	words := func(e limiter.Event) string { return strings.ReplaceAll(e.Text, r.Run.ID, r.Run.Title()) }
	life := func(kind string) bool { return kind == scheduler.EventRun || kind == limiter.EventAlert }
	return slices.ContainsFunc(r.Events[max(0, len(r.Events)-8):], func(was reportEvent) bool {
		return life(e.Kind) && life(was.Kind) && e.Kind != was.Kind && e.At.Sub(was.At).Abs() < time.Minute && words(e) == words(was.Event)
	})
}

// sameWords holds for texts that differ in their figures only.
func sameWords(a, b string) bool {
	letters := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c == '.' || c == ',' {
				return -1
			}
			return c
		}, s)
	}
	return letters(a) == letters(b)
}

// eventWeights order events where not all fit on the page.
var eventWeights = map[string]int{
	scheduler.EventRun: 9, limiter.EventAlert: 8, limiter.EventPause: 7, limiter.EventResume: 6, limiter.EventBreaker: 6, limiter.EventProvider: 6,
	limiter.EventHealth: 5, limiter.EventThrottle: 5, gemini.EventRamp: 4, limiter.EventFeedback: 3, limiter.EventLimits: 3, limiter.EventCooldown: 2,
}

// shownEvents are the weightiest, in the order of time, and how many are left out.
func (r *runReport) shownEvents() (shown []reportEvent, left int) {
	var after []reportEvent
	for _, e := range r.Events {
		if !r.Ended || !e.Happened().After(r.To.Add(time.Minute)) {
			after = append(after, e)
		}
	}
	byWeight := slices.Clone(after)
	slices.SortStableFunc(byWeight, func(a, b reportEvent) int { return eventWeights[b.Kind] - eventWeights[a.Kind] })
	byWeight = byWeight[:min(len(byWeight), mostEvents)]
	slices.SortStableFunc(byWeight, func(a, b reportEvent) int { return a.Happened().Compare(b.Happened()) })
	return byWeight, len(after) - len(byWeight)
}
