package scheduler

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestEventsHaveTheirOwnTime: a scheduler that comes back after hours tells what happened
// meanwhile with when it did, of what nobody saw since when nobody looked, and hooks hear
// of a run's begin before its end.
func TestEventsHaveTheirOwnTime(t *testing.T) {
	rec := newReceiver(t)
	h := newHooked(t, Hook{Name: "team", URL: rec.URL, On: []string{RunStarted, RunFinished}})
	h.hooks.Zone = time.FixedZone("CET", 3600)
	h.hooks.Report = nil
	stopped := h.at
	h.must((&LifeWatch{Control: h.c}).Look(t.Context()))
	run := enqueuedAs(t, h.store, "night")
	h.must((&LifeWatch{Control: h.c}).Look(t.Context())) // it is queued
	ended := stopped.Add(2 * time.Hour)
	c, err := h.store.Counts(t.Context(), run.ID)
	h.must(err)
	for i := range c.Total() {
		task := jobs.Task{Run: run.ID, Index: i}
		_, err := h.store.Begin(t.Context(), task)
		h.must(err)
		_, err = h.store.Finish(t.Context(), task, jobs.Result{Row: "r", Status: "done", Output: "o", Finished: ended})
		h.must(err)
	}
	h.at = stopped.Add(8 * time.Hour)
	h.must((&LifeWatch{Control: h.c}).Look(t.Context()))
	h.look()

	all, err := h.lim.Events(t.Context(), time.Time{}, 0)
	h.must(err)
	var told []limiter.Event
	for _, e := range all {
		if e.Kind == EventRun && e.Subject == run.ID {
			told = append(told, e)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0].Text, "nobody looked since "+limiter.Instant(stopped)) || told[1].Data[limiter.DataHappened] != ended.Format(time.RFC3339Nano) {
		t.Errorf("told %+v", told)
	}
	if len(rec.bodies) != 2 || !strings.Contains(rec.bodies[0], "nobody looked since 07:00 CET") || !strings.Contains(rec.bodies[1], `"type":"run.finished","timestamp":"`+ended.Format(time.RFC3339)) {
		t.Errorf("the hook was told %q", rec.bodies)
	}
}
