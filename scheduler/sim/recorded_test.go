package sim

import (
	"testing"
	"time"

	"nightshift/limiter"
)

// TestReplay: under a lower limit people of recorded hours are refused and rows come later;
// under the limit that held, neither.
func TestReplay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var uses []Use
	for at := start; at.Before(start.Add(20 * time.Minute)); at = at.Add(20 * time.Second) {
		uses = append(uses,
			Use{At: at, Class: "interactive", Lasted: 20 * time.Second, Used: limiter.Amounts{limiter.Requests: 40, limiter.InputTokens: 4000}},
			Use{At: at, Class: "bulk", Lasted: 20 * time.Second, Used: limiter.Amounts{limiter.Requests: 200, limiter.InputTokens: 20_000}})
	}
	under := func(rpm int64) map[string]Borne {
		t.Helper()
		all, err := Replay(limiter.Config{Scope: scope, Classes: limiter.DefaultClasses(), Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: rpm}, Lend: "auto"}}}, lane, uses)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]Borne{}
		for _, b := range all {
			out[b.Class] = b
		}
		return out
	}
	if all := under(2000); all["interactive"] != (Borne{Class: "interactive", Calls: 2400}) || all["bulk"] != (Borne{Class: "bulk", Calls: 12_000}) {
		t.Errorf("under a wide limit: %+v", all)
	}
	if all := under(500); all["interactive"].Refused != 0 || all["bulk"].Delayed == 0 || all["bulk"].Left == 0 || all["bulk"].Longest < time.Minute {
		t.Errorf("under one that is enough for people: %+v", all)
	}
	if all := under(60); all["interactive"].Refused < 1000 {
		t.Errorf("under one that is not: %+v", all)
	}
	if none, err := Replay(limiter.Config{}, lane, nil); none != nil || err != nil {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}
