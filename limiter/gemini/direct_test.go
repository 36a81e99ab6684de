package gemini

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

func directLanes(t *testing.T) *LaneMap {
	t.Helper()
	lanes, err := NewLaneMap("proj", "", Model{Name: "gemini-2.5-flash"}, Model{Name: "gemini-2.5-pro"})
	if err != nil {
		t.Fatal(err)
	}
	return lanes
}

// TestDirectIsCharged: past the limit too, and what follows pays for it.
func TestDirectIsCharged(t *testing.T) {
	gate, records := newModelGate(t, limiter.Limits{RPM: 3, InputTPM: 10_000}), &kept{}
	for i := range 5 {
		d := DirectCall{Model: "models/Gemini-2.5-Flash", Class: "interactive", Feature: "legacy", InputTokens: 100, OutputTokens: 20, Status: 200, Latency: 3 * time.Second}
		if err := Direct(t.Context(), gate, directLanes(t), records, d, time.Now()); err != nil {
			t.Fatal(err)
		}
		over := ""
		if i >= 3 {
			over = "rpm"
		}
		r := records.last(t)
		if r.Decision != ReportedDirect || !r.Direct || !r.Sent || r.Permit == "" || r.Over != over || r.TookMS != 3000 || r.Method != "generateContent" ||
			r.Used[limiter.InputTokens] != 100 || r.Used[limiter.OutputTokens] != 20 || r.Used[limiter.TotalTokens] != 120 || r.MicroUSD == nil || *r.MicroUSD != 80 {
			t.Errorf("%d: %+v", i, r)
		}
	}
	s, err := gate.State(t.Context(), flashLane)
	if err != nil || s.InFlight != 0 || s.Limits[0].Used != 5 || s.Limits[1].Used != 500 {
		t.Errorf("%+v, %v", s.Limits, err)
	}
	_, err = gate.Acquire(t.Context(), limiter.Request{ID: "x", Lane: flashLane, Class: "interactive", Feature: "chat", Amounts: limiter.Amounts{limiter.Requests: 1}})
	if err == nil {
		t.Error("the next one does not pay for it")
	}
}

// TestDirectRefusedThere: a refusal that is reported lets the lane rest as our
// own would, and is told from what we had admitted.
func TestDirectRefusedThere(t *testing.T) {
	gate, records := &fakeGate{}, &kept{}
	d := DirectCall{Model: "gemini-2.5-flash", Class: "interactive", Feature: "legacy", Status: 429, Latency: time.Second, FirstToken: time.Millisecond, TraceID: "t1",
		ErrorBody: []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 12.5s.","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"60"}]}]}}`)}
	if err := Direct(t.Context(), gate, directLanes(t), records, d, meterNoon); err != nil {
		t.Fatal(err)
	}
	if len(gate.cooled) != 1 || gate.cooled[0] != (cooling{flashLane, 14 * time.Second, limiter.ReasonCooldown}) {
		t.Errorf("cooled %+v", gate.cooled)
	}
	r := records.last(t)
	if r.Limit != "rpm" || r.QuotaValue != 60 || r.Verdict != Wait || r.Status != 429 || r.TraceID != "t1" || r.FirstMS != 1 ||
		r.Method != "streamGenerateContent" || r.Decision != ReportedDirect || !r.Time.Equal(meterNoon.Add(-time.Second)) {
		t.Errorf("%+v", r)
	}
	d.ErrorBody = []byte(`{"error":{"code":400,"message":"API key not valid.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`)
	d.Status = 400
	if err := Direct(t.Context(), gate, directLanes(t), records, d, meterNoon); err != nil {
		t.Fatal(err)
	}
	if len(gate.cooled) != 1 {
		t.Errorf("somebody else's key has closed our lanes: %+v", gate.cooled[1:])
	}
}

func TestDirectThatMakesNoSense(t *testing.T) {
	fine := DirectCall{Model: "gemini-2.5-flash", Class: "interactive", Feature: "legacy", Status: 200, Latency: time.Second}
	for want, change := range map[string]func(*DirectCall){
		"class":   func(d *DirectCall) { d.Class = "" },
		"feature": func(d *DirectCall) { d.Feature = "" },
		"model":   func(d *DirectCall) { d.Model = "" },
		"tokens":  func(d *DirectCall) { d.OutputTokens = -1 },
		"latency": func(d *DirectCall) { d.FirstToken = 2 * time.Second },
		"status":  func(d *DirectCall) { d.Status = 42 },
	} {
		d, gate, records := fine, &fakeGate{}, &kept{}
		change(&d)
		err := Direct(t.Context(), gate, directLanes(t), records, d, meterNoon)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, want) || len(gate.acquired) > 0 || len(records.list) > 0 {
			t.Errorf("%s: %v, asked %d times, %d records", want, err, len(gate.acquired), len(records.list))
		}
	}
	fine.Model = "gemini-0"
	var unknown *UnknownModelError
	if err := Direct(t.Context(), &fakeGate{}, directLanes(t), nil, fine, meterNoon); !errors.As(err, &unknown) {
		t.Error(err)
	}
}

// TestDirectWithoutRedis: the record is kept, and the maker of the call is told.
func TestDirectWithoutRedis(t *testing.T) {
	gate, records := newAwayGate(), &kept{}
	d := DirectCall{Model: "gemini-2.5-flash", Class: "interactive", Feature: "legacy", Latency: time.Second}
	if err := Direct(t.Context(), gate, directLanes(t), records, d, meterNoon); err == nil {
		t.Error("no error")
	}
	if r := records.last(t); r.Verdict != Backoff || r.Permit != "" || !r.Sent {
		t.Errorf("%+v", r)
	}
}
