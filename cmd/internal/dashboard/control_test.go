package dashboard

import (
	"net/http"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// TestButtonsSteerTheFleet presses asynqmon's buttons with the scheduler's
// reasons behind them: an operator's pause comes and goes, the health monitor's
// stays and says how to lift it.
func TestButtonsSteerTheFleet(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 3)
	scope := limiter.Scope{Provider: "gemini", Project: "shop"}
	classes := []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true, Smooth: true, Tickets: true}}
	lane, err := limiter.ParseLane(testLane)
	if err != nil {
		t.Fatal(err)
	}
	lim := limiter.NewRedis(b.rdb, scope, limiter.RedisOptions{})
	limits := []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000}, Lend: "now"}}
	if err := lim.Configure(t.Context(), limiter.Config{Scope: scope, Classes: classes, Lanes: limits}); err != nil {
		t.Fatal(err)
	}
	control := &scheduler.Control{Redis: b.rdb, Limiter: lim, Store: b.store, Scope: scope, Classes: classes}
	d := newDashboard(t, Config{Redis: b.rdb, Store: b.store, Write: true, Pauser: control})

	q := "/queues/api/queues/" + testQueue
	want(t, ask(t, d, "POST", q+":pause"), http.StatusNoContent)
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusOK, `"paused":true`)
	pauses, err := lim.Pauses(t.Context())
	if err != nil || len(pauses) != 1 || pauses[0].Reason != scheduler.ReasonOperator || pauses[0].Owner != "dashboard" {
		t.Errorf("the limiter has %+v, %v", pauses, err)
	}
	want(t, ask(t, d, "POST", q+":resume"), http.StatusNoContent)
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusOK, `"paused":false`)

	health := limiter.Pause{Class: "bulk", Reason: scheduler.ReasonHealth, Owner: "monitor", Since: time.Now(), Until: time.Now().Add(time.Minute), Detail: "p95 4.1 s"}
	if err := lim.Pause(t.Context(), health); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, ask(t, d, "POST", q+":resume"), http.StatusConflict, "p95 4.1 s", "Type: nightshift resume", "--override 30m")
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusOK, `"paused":true`)
	want(t, ask(t, d, "POST", "/queues/api/queues/nobody:pause"), http.StatusConflict, "nobody")
}
