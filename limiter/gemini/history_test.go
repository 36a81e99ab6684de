package gemini

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// historyRig is a meter, a historian and a reader on clocks that the test turns.
type historyRig struct {
	t     *testing.T
	rdb   *redis.Client
	scope limiter.Scope
	clock *handClock
	meter *Meter
	made  *Historian
	read  *History
	took  time.Duration // a historian's step, in the mean; benchmarks only
}

func newHistoryRig(t *testing.T, rdb *redis.Client, lanes LaneStates) *historyRig {
	r := &historyRig{t: t, rdb: rdb, scope: meterScope(), clock: &handClock{at: meterNoon}}
	r.meter = meterAt(t, rdb, r.scope, r.clock, r.clock)
	r.made = NewHistorian(rdb, r.scope, HistorianOptions{Lanes: lanes, redisNow: r.clock.now})
	r.read = NewHistory(rdb, r.scope)
	r.read.redisNow = r.clock.now
	return r
}

// call counts one call of a tenant.
func (r *historyRig) call(model, class, feature, tenant string, input int64) {
	c := goodCall(r.scope, class, feature)
	c.Lane, c.Path.Tenant = r.scope.String()+"/global/"+model, tenant
	c.Used[limiter.InputTokens] = input
	r.meter.Put(c)
}

func (r *historyRig) pass(d time.Duration) {
	r.t.Helper()
	r.meter.flush(false)
	r.clock.turn(d)
	if err := r.made.Step(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *historyRig) ask(q HistoryQuery) *HistoryData {
	r.t.Helper()
	d, err := r.read.Read(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// TestHistoryHasAllThatWasCounted: however it is told apart, at whatever step, from
// the meter's own buckets, blocks that grow, final ones and coarse ones.
func TestHistoryHasAllThatWasCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newHistoryRig(t, rdb, nil)
		begin, calls := r.clock.now(), int64(0)
		for i := range 18 * 9 { // nearly three hours
			r.call("gemini-x", "bulk", "catalog", fmt.Sprintf("t%d", i%3), 10)
			r.call("gemini-y", "interactive", "chat", "", 1)
			calls += 2
			r.pass(time.Minute)
		}
		r.call("gemini-x", "bulk", "catalog", "t0", 10)
		r.meter.flush(false)
		calls++
		for _, by := range GroupsBy() {
			for _, q := range []HistoryQuery{{From: begin}, {From: begin, Step: 20 * time.Second}, {From: begin, Step: 10 * time.Minute}} {
				q.To, q.By = r.clock.now().Add(time.Second), by
				d := r.ask(q)
				if got := d.Total.Sum.Calls; got != calls {
					t.Errorf("by %s at %s: %d calls of %d", by, d.Step, got, calls)
				}
				var sum int64
				for _, g := range d.Groups {
					sum += g.Sum.Calls
					if points := addPoints(g.Points); points != g.Sum.Calls {
						t.Errorf("by %s at %s: %s has %d in its points, %d in all", by, d.Step, g.Name, points, g.Sum.Calls)
					}
				}
				if sum != calls || len(d.Missing) > 0 {
					t.Errorf("by %s at %s: groups have %d of %d, missing %v", by, d.Step, sum, calls, d.Missing)
				}
			}
		}
	})
}

func addPoints(points []UsageSample) (n int64) {
	for _, p := range points {
		n += p.Calls
	}
	return n
}
