package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// TestRestSentence says why, until when and what would help.
func TestRestSentence(t *testing.T) {
	t.Parallel()
	now := time.Now()
	conf := &loaded{}
	conf.Gemini.APIKeyEnv = "MY_KEY"
	until := now.Add(time.Minute)
	for _, c := range []struct {
		rest limiter.Cooldown
		want string
	}{
		{limiter.Cooldown{Until: until, Reason: limiter.ReasonCooldown, Detail: "provider: rpm"}, "the provider refused (rpm); rests until " + clock(until, now)},
		{limiter.Cooldown{Until: until, Reason: limiter.ReasonCredentials, Detail: "provider: api_key_invalid"}, "put a working key into MY_KEY and start the worker again"},
		{limiter.Cooldown{Until: until, Reason: limiter.ReasonCooldown, Detail: "provider: not_the_api"}, "is gemini.base_url right?"},
	} {
		if got := conf.restSentence(&c.rest, now); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q in it", got, c.want)
		}
	}
}

// TestBreakerSentence says why, since and until when, when somebody looks, and who may
// end it.
func TestBreakerSentence(t *testing.T) {
	t.Parallel()
	now := time.Now()
	conf := &loaded{}
	conf.Gemini.APIKeyEnv = "MY_KEY"
	since, next, until := now.Add(-time.Minute), now.Add(time.Hour), now.Add(9*time.Hour)
	b := limiter.BreakerState{Phase: limiter.BreakerOpen, Reason: limiter.ReasonSpend, Detail: "the cap is reached (project_cap)", Since: since, Next: next, Until: until, Lift: "raise it"}
	want := "the cap is reached (project_cap): calls are held back since " + clock(since, now) + " until " + clock(until, now) +
		"; one call looks again at " + clock(next, now) + "; raise it"
	if got := conf.breakerSentence(&b, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b = limiter.BreakerState{Phase: limiter.BreakerHalfOpen, Reason: limiter.ReasonCredentials, Since: since, Next: now}
	want = "credentials: calls are held back since " + clock(since, now) + "; the next call looks; put a working key into MY_KEY and start the worker again"
	if got := conf.breakerSentence(&b, now); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTurn: a row's turn does not come before its lane works again.
func TestTurn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, h := range map[time.Duration]hold{5 * time.Second: {}, time.Minute: {until: now.Add(time.Minute)}} {
		if got := turn(5*time.Second, h, now); got != want {
			t.Errorf("%+v: %v, want %v", h, got, want)
		}
	}
}

// TestLiving: a worker that is silent, that stops, or that is of another project
// takes no lane up.
func TestLiving(t *testing.T) {
	t.Parallel()
	b := &backend{conf: &loaded{}}
	b.conf.Gemini.Project = "p"
	fleet := []worker.WorkerInfo{
		{ID: "ours", Project: "p"}, {ID: "dead", Project: "p", Quiet: 4 * time.Second},
		{ID: "other", Project: "q"}, {ID: "stops", Project: "p", Draining: true},
	}
	if got := b.living(fleet); len(got) != 1 || got[0].ID != "ours" {
		t.Errorf("%+v", got)
	}
}

// TestPhase says what a run is doing as a whole.
func TestPhase(t *testing.T) {
	t.Parallel()
	counts := func(s jobs.State, n int64) (c jobs.Counts) { c[s] = n; return c }
	for want, s := range map[string]runStatus{
		"cancelled": {counts: counts(jobs.Cancelled, 5)},
		"cancelled; up to 2 calls still under way: their answers are kept": {counts: counts(jobs.Cancelled, 5), late: 2},
		"ended, some failed":       {counts: counts(jobs.Failed, 1)},
		"waiting for quota":        {counts: counts(jobs.Waiting, 1), Workers: 1},
		"the provider is gone":     {counts: counts(jobs.Waiting, 1), Workers: 1, Hold: "the provider is gone"},
		"run r is paused":          {counts: counts(jobs.Waiting, 1), Hold: "run r is paused", hold: hold{paused: true}},
		"the provider answers 503": {counts: counts(jobs.Running, 1), Workers: 1, hold: hold{failing: true}, Hold: "the provider answers 503"},
		"at work":                  {counts: counts(jobs.Running, 1), Workers: 1, Hold: "the provider is gone"},
		"paused until 4":           {counts: counts(jobs.Running, 1), Workers: 1, Hold: "paused until 4", hold: hold{paused: true}},
		"no worker serves it":      {counts: counts(jobs.Waiting, 1), Hold: "the provider is gone"},
	} {
		if got := s.phase(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLoweredWait: what the provider's answers took off a limit is not held for
// others, and the sentence says whose doing it is.
func TestLoweredWait(t *testing.T) {
	t.Parallel()
	s := evening()
	calls := limiter.LimitState{
		Limit: limiter.Limit{Unit: limiter.Concurrency, Window: limiter.Held, Amount: 10_000}, Name: "concurrency", Effective: 1,
		Lowered: &limiter.Lowering{PPM: 999_900}, Classes: []limiter.ClassUse{{Class: "interactive"}, {Class: "bulk"}},
	}
	s.Limits = append(s.Limits, calls)
	want := "4,310 jobs wait for concurrency: 0 of 1 used (lowered since the provider is short of capacity; one more each second in which they are needed), 0 held for others; room comes as soon as a class gives some back."
	if got := laneWait(s, laneStep(s, "bulk"), at(22, 0)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s = evening()
	s.Limits[0].Effective, s.Limits[0].Lowered = 850, &limiter.Lowering{PPM: 105_263}
	want = "4,310 jobs wait and go one by one as rpm allows: 810 of 900 used in this minute (lowered from 1,000 since the provider refused what was admitted), 140 held for others."
	if got := laneWait(s, laneStep(s, "bulk"), at(22, 0)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLaneWait: jobs that have room go at the lane's pace, others wait for the
// next that leaves the window.
func TestLaneWait(t *testing.T) {
	t.Parallel()
	s := evening()
	if got, want := laneWait(s, laneStep(s, "bulk"), at(22, 0)), "4,310 jobs wait and go one by one as rpm allows: 810 of 1,000 used in this minute, 140 held for others."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.Limits[0].Classes[2].Room = 0
	if got, want := laneWait(s, laneStep(s, "bulk"), at(22, 0)), "4,310 jobs wait for rpm: 810 of 1,000 used in this minute, 140 held for others; room comes in 20s."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e := askedAt22("bulk", nil)
	if got, want := laneWait(e.Lane, tightestStep(e), at(22, 0)), "4,310 jobs wait for rpm of tenant/acme: 200 of 200 used in this minute, 0 held for others; room comes as soon as a class gives some back."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLaneWaitCounts: jobs that do not go by the limit are not said to wait for it.
func TestLaneWaitCounts(t *testing.T) {
	t.Parallel()
	leaves := []limiter.LeafState{
		{Leaf: limiter.Path{Tenant: "acme", Run: "a"}.Leaf(), Waiting: 300},
		{Leaf: limiter.Path{Tenant: "acme", Team: "search", Run: "b"}.Leaf(), Waiting: 56},
		{Leaf: limiter.Path{Tenant: "beta", Run: "c"}.Leaf(), Waiting: 292},
	}
	features := map[string]string{"a": "tags", "b": "titles", "c": "tags"}
	for node, want := range map[string]int64{"": 648, "tenant/acme": 356, "team/search": 56, "run/c": 292, "feature/tags": 592, "tenant/none": 0} {
		if got := (wayStep{node: node, features: features}).waits(leaves); got != want {
			t.Errorf("%d wait by %q, want %d", got, node, want)
		}
	}
}
