package limiter

import "testing"

// TestKnownSettings: what one process knows of the limits is not fetched again, follows
// what another one sets, and is not what a caller may change.
func TestKnownSettings(t *testing.T) {
	rdb := dialEmbedded(t)
	r, lane := benchLane(t, rdb, Limits{RPM: 60})
	other := NewRedis(rdb, r.scope, RedisOptions{})
	rpm := func() int64 {
		t.Helper()
		c, err := r.Effective(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		was := c.Lanes[0].Limits.RPM
		c.Lanes[0].Limits.RPM = 1 // the caller's own
		return was
	}
	for range 2 {
		if got := rpm(); got != 60 {
			t.Fatalf("rpm %d", got)
		}
	}
	if err := other.Set(t.Context(), Override{Node: lane.String(), Name: "rpm", Value: 50}); err != nil {
		t.Fatal(err)
	}
	if got := rpm(); got != 50 {
		t.Errorf("rpm %d after another process set 50", got)
	}
	known := r.settings.Load()
	if _, err := r.Overrides(t.Context()); err != nil || r.settings.Load() != known {
		t.Errorf("fetched again without a change (%v)", err)
	}
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if c, err := r.Effective(t.Context()); err != nil || len(c.Lanes) != 0 {
		t.Errorf("after a loss: %+v, %v", c.Lanes, err)
	}
}
