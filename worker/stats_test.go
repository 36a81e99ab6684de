package worker

import (
	"testing"
	"time"
)

// TestWaitThatTells: what closes a lane is not hidden by rows that only get their
// places in the line meanwhile.
func TestWaitThatTells(t *testing.T) {
	now := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	var c counters
	c.waits("l", "waiting for quota", now.Add(time.Minute), now)
	c.waits("l", "waiting for a working API key", now.Add(2*time.Minute), now)
	c.waits("l", "waiting for quota", now.Add(5*time.Minute), now.Add(time.Second))
	if w := c.waiting("l", now.Add(2*time.Second)); w.why != "waiting for a working API key" {
		t.Errorf("the lane waits for %q", w.why)
	}
	c.waits("l", "waiting for quota", now.Add(5*time.Minute), now.Add(3*time.Minute))
	if w := c.waiting("l", now.Add(3*time.Minute)); w.why != "waiting for quota" {
		t.Errorf("the lane waits for %q once the key works", w.why)
	}
	if n := c.waited.Load(); n != 4 {
		t.Errorf("%d waits", n)
	}
}
