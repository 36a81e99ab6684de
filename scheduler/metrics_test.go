package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// fleetRig is a rig that is told of, with a clock of the collector's own.
func fleetRig(t *testing.T) (r *rig, c *FleetCollector, now *time.Time) {
	r = newRig(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}))
	clock := time.Unix(1_800_000_000, 0)
	c = &FleetCollector{Control: r.c, Leads: func() bool { return true }, Now: func() time.Time { return clock }}
	return r, c, &clock
}

// told are the values of metrics, "name{labels}" as Prometheus writes them.
func told(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[strings.TrimPrefix(f.GetName(), "nightshift_")+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func wantTold(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if g, there := got[name]; !there || g != v {
			t.Errorf("%s is %v (there: %v), want %v", name, g, there, v)
		}
	}
}

// TestFleetMetrics: what stands in Redis is told as it is.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	r, c, now := fleetRig(t)
	lane, _ := limiter.ParseLane(testLane)
	_, err := r.lim.Acquire(r.ctx(), limiter.Request{ID: "a", Lane: lane, Class: "interactive", Feature: "chat", Amounts: limiter.Amounts{limiter.Requests: 3}})
	r.must(err)
	r.must(r.lim.Pause(r.ctx(), limiter.Pause{Class: "bulk", Reason: ReasonOperator, Owner: "ada", Since: time.Now().Add(-time.Hour)}))
	r.must(r.lim.Pause(r.ctx(), limiter.Pause{Class: "bulk", Reason: "moving-house", Owner: "ada"}))
	got := told(t, c)
	wantTold(t, got, map[string]float64{
		"scheduler_leader{}": 1, "redis_up{}": 1, "fleet_read_failures_total{}": 0,
		"lane_limit_configured{limit=rpm,model=m}":             1000,
		"lane_limit_used{class=interactive,limit=rpm,model=m}": 3,
		"lane_limit_used{class=interactive,limit=rpd,model=m}": 3,
		"lane_limit_used{class=bulk,limit=rpm,model=m}":        0,
		"lane_permits_in_flight{model=m}":                      1,
		"lane_waiting{class=bulk,model=m}":                     0,
		"pauses{reason=operator,target=class}":                 1,
		"pauses{reason=other,target=class}":                    1,
		"health_phase{phase=healthy}":                          1,
		"health_phase{phase=paused}":                           0,
		"runs{state=open}":                                     0,
		"workers{state=serving}":                               0,
		"schedulers{role=leader}":                              0,
		"rows{class=bulk,state=queued}":                        0,
	})
	if s := got["class_paused_seconds{class=bulk,reason=operator}"]; s < 3590 || s > 3700 {
		t.Errorf("paused for an hour is told as %v s", s)
	}
	r.must(r.lim.Lift(r.ctx(), limiter.Pause{Class: "bulk"}, ReasonOperator))
	wantTold(t, told(t, c), map[string]float64{"pauses{reason=operator,target=class}": 1}) // a reading serves five seconds
	*now = now.Add(5 * time.Second)
	if _, there := told(t, c)["pauses{reason=operator,target=class}"]; there {
		t.Error("a pause that was lifted is still told")
	}
}

// TestFleetMetricsOfRows: rows that end are counted, and no run is counted anew
// because it was read again.
func TestFleetMetricsOfRows(t *testing.T) {
	t.Parallel()
	r, c, now := fleetRig(t)
	run := enqueued(t, r.store)
	wantTold(t, told(t, c), map[string]float64{"rows{class=bulk,state=queued}": 3, "runs{state=open}": 1})
	for i, end := range []string{"done", "failed"} {
		task := jobs.Task{Run: run.ID, Index: int64(i)}
		_, err := r.store.Begin(r.ctx(), task)
		r.must(err)
		_, err = r.store.Finish(r.ctx(), task, jobs.Result{Run: run.ID, Row: string(rune('a' + i)), Index: int64(i), Status: end})
		r.must(err)
	}
	for range 2 {
		*now = now.Add(time.Minute)
		wantTold(t, told(t, c), map[string]float64{
			"rows{class=bulk,state=queued}": 1, "rows{class=bulk,state=done}": 1, "rows_enqueued_total{class=bulk}": 0,
			"rows_ended_total{class=bulk,state=done}": 1, "rows_ended_total{class=bulk,state=failed}": 1, "rows_ended_total{class=bulk,state=expired}": 0,
		})
	}
	newer := enqueuedAs(t, r.store, "later")
	*now = now.Add(time.Minute)
	if got := told(t, c); newer.Rows != 3 || got["rows_enqueued_total{class=bulk}"] != 3 {
		t.Errorf("a run of %d rows that came later is told as %v", newer.Rows, got["rows_enqueued_total{class=bulk}"])
	}
}

// TestFleetMetricsOfStandby: one that stands by tells nothing that the leader tells.
func TestFleetMetricsOfStandby(t *testing.T) {
	t.Parallel()
	_, c, _ := fleetRig(t)
	c.Leads = func() bool { return false }
	if got := told(t, c); len(got) != 2 || got["scheduler_leader{}"] != 0 || got["redis_up{}"] != 1 {
		t.Errorf("a standby tells %v", got)
	}
}

// TestFleetMetricsWithoutRedis: a Redis that is away is told, in time.
func TestFleetMetricsWithoutRedis(t *testing.T) {
	t.Parallel()
	_, c, now := fleetRig(t)
	told(t, c)
	*now = now.Add(time.Minute)
	_ = c.Control.Redis.Close()
	wantTold(t, told(t, c), map[string]float64{"scheduler_leader{}": 1, "redis_up{}": 0, "fleet_read_failures_total{}": 1})
}

// TestFleetMetricsStayFlat: names that nobody configured add a handful of series,
// wherever they come from.
func TestFleetMetricsStayFlat(t *testing.T) {
	t.Parallel()
	r, c, now := fleetRig(t)
	before := len(told(t, c))
	for i := range 40 {
		b, err := json.Marshal(worker.WorkerInfo{ID: fmt.Sprint("w", i), Project: testScope.Project, Lanes: []worker.LaneInfo{{Lane: fmt.Sprintf("gemini/test/global/m-%d", i), Slots: 1}}})
		r.must(err)
		r.must(r.rdb.HSet(r.ctx(), "nightshift:fleet", fmt.Sprint("w", i), fmt.Sprintf("%d|%s", time.Now().UnixMilli(), b)).Err())
		r.must(r.lim.Pause(r.ctx(), limiter.Pause{Class: fmt.Sprintf("class-%d", i), Reason: fmt.Sprintf("reason-%d", i), Owner: "x"}))
		r.must(r.lim.Pause(r.ctx(), limiter.Pause{Lane: fmt.Sprintf("gemini/test/global/m-%d", i), Reason: ReasonOperator, Owner: "x"}))
	}
	*now = now.Add(time.Minute)
	if after := len(told(t, c)); after > before+5 {
		t.Errorf("%d series became %d", before, after)
	}
}

func TestFleetMetricsLint(t *testing.T) {
	t.Parallel()
	_, c, _ := fleetRig(t)
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
