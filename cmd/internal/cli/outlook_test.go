package cli

import (
	"math"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// nightLane is a lane that leaves bulk 610 of 1,000 requests in a window of 61 s,
// 600 a minute, with rows waiting that cost one each.
func nightLane(leaves ...limiter.LeafState) limiter.LaneState {
	return limiter.LaneState{
		Lane: limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"},
		Limits: []limiter.LimitState{{
			Limit: limiter.Limit{Unit: limiter.Requests, Amount: 1000}, Name: "rpm", Effective: 710,
			Classes: []limiter.ClassUse{{Class: "interactive", Protected: 100}, {Class: "bulk", Used: 500}},
		}},
		Leaves: append(leaves, limiter.LeafState{Class: "bulk", Leaf: limiter.Path{Run: "other"}.Leaf(), Waiting: 100, Booked: limiter.Amounts{100}}),
	}
}

func openRun(id string, priority jobs.Priority, rows int64) runStatus {
	r := runStatus{ID: id, Model: "m", Class: "bulk", Feature: "tags", Priority: priority, lane: "gemini/p/global/m", Workers: 1}
	r.counts[jobs.Waiting] = rows
	return r
}

// TestCourse: rows come through at the limits' rate or at that of the last
// minutes, whichever is less, as far as throttles, holds and the day let them.
func TestCourse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	half := limiter.Throttle{Class: "bulk", ToPPM: 500_000}
	for _, c := range []struct {
		name  string
		pace  float64
		rows  float64
		opens time.Duration
		until time.Duration // of a throttle to half; 0: none
		day   int64         // of rpd, of which nothing is used
		want  time.Duration
	}{
		{"at the limits", 0, 600 * 30, 0, 0, 0, 30 * time.Minute},
		{"slower than the limits", 300, 300 * 30, 0, 0, 0, 30 * time.Minute},
		{"a pace that the limits end", 6000, 600 * 30, 0, 0, 0, 30 * time.Minute},
		{"not before it opens", 300, 3000, time.Hour, 0, 0, 70 * time.Minute},
		{"a throttle for ten minutes", 0, 600 * 30, 0, 10 * time.Minute, 0, 35 * time.Minute},
		// Lately 150 came through at half: 300 will afterwards.
		{"a pace under a throttle", 150, 300 * 30, 0, 10 * time.Minute, 0, 35 * time.Minute},
		// 10,000 today, and the rest from midnight in California (08:00 UTC) on.
		{"more than the day has", 0, 10_000 + 600*10, 0, 0, 10_000, 10*time.Hour + 10*time.Minute},
		{"for ever", 1, 1e9, 0, 0, 0, 0},
	} {
		s := nightLane()
		if c.until > 0 {
			held := half
			held.Until = now.Add(c.until)
			s.Throttles = append(s.Throttles, held)
		}
		if c.day > 0 {
			s.Limits = append(s.Limits, limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Day, Amount: c.day},
				Name: "rpd", Effective: c.day, Classes: []limiter.ClassUse{{Class: "bulk"}}})
		}
		at, known := newCourse(s, "bulk", costsIn(s.Leaves), c.pace, now).from(now.Add(c.opens)).after(c.rows)
		if known != (c.want > 0) || known && at.Sub(now).Round(time.Second) != c.want {
			t.Errorf("%s: in %s (known: %v), want %s", c.name, at.Sub(now), known, c.want)
		}
	}
}

// TestCourseRamp: while a throttle rises the rate rises with it.
func TestCourseRamp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	s := nightLane()
	s.Throttles = []limiter.Throttle{{Class: "bulk", FromPPM: 0, ToPPM: 1_000_000, RampFrom: now, RampTo: now.Add(20 * time.Minute)}}
	at, known := newCourse(s, "bulk", costsIn(s.Leaves), 0, now).after(600 * 30)
	// Half of the ramp is lost, and a little more for steps of a minute.
	if lost := at.Sub(now) - 30*time.Minute; !known || (lost-10*time.Minute).Abs() > time.Minute {
		t.Errorf("%s is lost, want about 10m", lost)
	}
}

// TestOutlook: runs share a lane by weight, paused ones leave it to the others,
// and a row's time is that of the rows before it.
func TestOutlook(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	minutes := func(t time.Time) float64 { return math.Round(t.Sub(now).Minutes()*10) / 10 }
	high, low := openRun("h", jobs.High, 2400), openRun("l", jobs.Low, 2400)
	paused := openRun("p", jobs.High, 9000)
	paused.hold = hold{why: "run p is paused by ada"}
	rested := openRun("r", jobs.Low, 600)
	rested.hold = hold{why: "run r is paused until then", until: now.Add(time.Hour)}
	broken := openRun("b", jobs.High, 9000)
	broken.hold = hold{why: "the cap is reached", until: now.Add(time.Hour), unsure: true}
	for _, c := range []struct {
		name   string
		runs   []runStatus
		leaves []limiter.LeafState
		id     string
		rows   int64
		want   float64 // minutes; 0: not known
	}{
		{"alone", []runStatus{high}, nil, "h", 2400, 4},
		{"the high run has four fifths", []runStatus{high, low}, nil, "h", 2400, 5},
		{"the low one ends after it", []runStatus{high, low}, nil, "l", 2400, 8},
		{"a row in the middle", []runStatus{high, low}, nil, "h", 1200, 2.5},
		{"a paused run takes no part", []runStatus{high, paused}, nil, "h", 2400, 4},
		{"and has no end", []runStatus{high, paused}, nil, "p", 9000, 0},
		{"what a look may find closed again has none", []runStatus{high, broken}, nil, "b", 9000, 0},
		{"and leaves the lane to the others", []runStatus{high, broken}, nil, "h", 2400, 4},
		{"a pause ends", []runStatus{rested}, nil, "r", 600, 61},
		{"the limiter's weights count", []runStatus{high, low}, []limiter.LeafState{{Leaf: limiter.Path{Run: "l", Priority: limiter.Low}.Leaf(), Weight: 4}}, "h", 2400, 8},
		{"a tenant's many runs have one part", []runStatus{high, low}, []limiter.LeafState{
			{Leaf: limiter.Path{Run: "h", Priority: limiter.High}.Leaf(), Weight: 4, SharePPM: 250_000},
			{Leaf: limiter.Path{Run: "l", Priority: limiter.Low}.Leaf(), Weight: 1, SharePPM: 750_000},
		}, "l", 2400, 5.3},
		{"a run that waits for nothing has its weight beside them", []runStatus{high, low}, []limiter.LeafState{
			{Leaf: limiter.Path{Run: "h", Priority: limiter.High}.Leaf(), Weight: 4, SharePPM: 1_000_000},
		}, "h", 2400, 5},
		{"nobody of that name", []runStatus{high}, nil, "x", 1, 0},
	} {
		at, known := newOutlook(nightLane(c.leaves...), c.runs, 0, now).of(c.id, c.rows)
		if known != (c.want > 0) || known && minutes(at) != c.want {
			t.Errorf("%s: %v min (known: %v), want %v", c.name, minutes(at), known, c.want)
		}
	}
}

// TestOutlookBeforeARunBegins: what others work off before a run's window opens, or its
// pause ends, is nothing that it shares its time with.
func TestOutlookBeforeARunBegins(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC) // 600 rows a minute, and four hours to the window
	night := window(t, "22:00-07:00@100%, else @0%")
	own := openRun("own", jobs.Normal, 600*60)
	own.gates = []gate{night}
	paused := openRun("own", jobs.Normal, 600*60)
	paused.hold = hold{why: "paused by ada", until: now.Add(4 * time.Hour), paused: true}
	other := func(hours int64, gates ...gate) runStatus {
		r := openRun("other", jobs.Normal, 600*60*hours)
		r.gates = gates
		return r
	}
	for _, c := range []struct {
		name string
		own  runStatus
		runs []runStatus
		want time.Duration
	}{
		{"done before the window", own, []runStatus{other(3)}, 5 * time.Hour},
		{"just done before it", own, []runStatus{other(4)}, 5 * time.Hour},
		{"half an hour is left", own, []runStatus{other(4), openRun("third", jobs.Normal, 600*30)}, 5*time.Hour + 30*time.Minute},
		{"all night is left", own, []runStatus{other(14)}, 6 * time.Hour},
		{"it waits for the same window", own, []runStatus{other(1, night)}, 6 * time.Hour},
		{"before the end of a pause", paused, []runStatus{other(3)}, 5 * time.Hour},
	} {
		at, known := newOutlook(nightLane(), append([]runStatus{c.own}, c.runs...), 0, now).of("own", c.own.counts.Open())
		if !known || (at.Sub(now)-c.want).Abs() > time.Minute {
			t.Errorf("%s: done after %s (known: %v), want %s", c.name, at.Sub(now), known, c.want)
		}
	}
}

// TestEstimate: the pace of the last minutes counts, less than a minute of it says
// nothing, and a run that nobody serves has no end.
func TestEstimate(t *testing.T) {
	t.Parallel()
	lane := limiter.LaneState{Lane: nightLane().Lane} // no limit binds
	o := &overview{At: at(8, 0), Lanes: []limiter.LaneState{lane}}
	for m := range 3 {
		o.samples = append(o.samples, gemini.UsageSample{At: at(7, 57+m), Model: "m", Class: "bulk", Feature: "tags", Good: 60})
	}
	o.Runs = []runStatus{openRun("h", jobs.High, 480), openRun("l", jobs.Low, 120), openRun("n", jobs.Low, 120)}
	o.Runs[2].Workers = 0
	o.Runs[2].hold = hold{why: "no worker serves its lane"}
	o.estimate()
	for i, want := range []time.Duration{10 * time.Minute, 10 * time.Minute} {
		if eta := o.Runs[i].ETA; eta == nil || eta.Sub(o.At).Round(time.Second) != want {
			t.Errorf("%s: %v, want in %v", o.Runs[i].Priority, eta, want)
		}
	}
	if o.Runs[2].ETA != nil {
		t.Errorf("nobody serves it: %v", o.Runs[2].ETA)
	}
	o.samples = []gemini.UsageSample{{At: at(8, 0), Model: "m", Class: "bulk", Feature: "tags", Good: 60}}
	o.At, o.Runs[0].ETA = at(8, 0).Add(20*time.Second), nil
	o.estimate()
	if o.Runs[0].ETA != nil {
		t.Errorf("twenty seconds give an end at %v", o.Runs[0].ETA)
	}
}

// TestPaceOfAnIdleFleet: what came through before the open runs were there says
// nothing of how fast they go.
func TestPaceOfAnIdleFleet(t *testing.T) {
	t.Parallel()
	ended, fresh := openRun("e", jobs.Normal, 0), openRun("f", jobs.Normal, 2000)
	ended.Created, fresh.Created = at(7, 50), at(7, 58).Add(30*time.Second)
	o := &overview{At: at(8, 0), Runs: []runStatus{ended}}
	for m := range 4 {
		o.samples = append(o.samples, gemini.UsageSample{At: at(7, 55+m), Model: "m", Class: "bulk", Feature: "tags", Good: 100})
	}
	if got := o.pace(); len(got) > 0 {
		t.Errorf("nothing is open, and the pace is %v", got)
	}
	o.Runs = append(o.Runs, fresh)
	if got := o.pace(); len(got) > 0 {
		t.Errorf("all was before the open run, and the pace is %v", got)
	}
	o.samples = append(o.samples, gemini.UsageSample{At: at(7, 59), Model: "m", Class: "bulk", Feature: "tags", Good: 1000})
	if got := o.pace()["m"]; got != 1000 {
		t.Errorf("the pace is %v, want that of its only minute", got)
	}
}

// TestPaceAfterAPause: what ended of a run while it was paused, or in the rest of the
// minute in which it went on, says nothing slower of it than the time in which it could
// work does.
func TestPaceAfterAPause(t *testing.T) {
	t.Parallel()
	second := func(m, s int) time.Time { return at(8, m).Add(time.Duration(s) * time.Second) }
	sample := func(m int, good int64) gemini.UsageSample {
		return gemini.UsageSample{At: at(8, m), Model: "m", Class: "bulk", Feature: "tags", Good: good}
	}
	paused := func(from, to time.Time) []limiter.Closing {
		return []limiter.Closing{{By: limiter.ByPause, From: from, To: to}, {By: limiter.ByThrottle, From: at(7, 0)}}
	}
	for _, c := range []struct {
		name     string
		closings []limiter.Closing
		updated  time.Time
		samples  []gemini.UsageSample
		now      time.Time
		want     float64
	}{
		{"a pause in whole minutes and halves", paused(second(0, 30), second(3, 30)), at(7, 0),
			[]gemini.UsageSample{sample(0, 30), sample(3, 30), sample(4, 60)}, at(8, 5), 60},
		{"a straggler in a paused minute", paused(at(8, 1), at(8, 3)), at(7, 0),
			[]gemini.UsageSample{sample(0, 60), sample(1, 1), sample(3, 60)}, at(8, 4), 60},
		{"a pause that lasts", paused(second(1, 30), time.Time{}), at(7, 0),
			[]gemini.UsageSample{sample(0, 60), sample(1, 30)}, second(2, 30), 60},
		{"rows that a retry brought to an idle run", nil, second(3, 40),
			[]gemini.UsageSample{sample(0, 60), sample(3, 20), sample(4, 60)}, at(8, 5), 60},
		{"rows that came to a busy one", nil, second(1, 40),
			[]gemini.UsageSample{sample(0, 60), sample(1, 30), sample(2, 30)}, at(8, 3), 40},
		{"a throttle is no pause", paused(at(7, 0), at(7, 1)), at(7, 0), []gemini.UsageSample{sample(0, 60), sample(1, 30)}, at(8, 2), 45},
	} {
		run := openRun("r", jobs.Normal, 100)
		run.Created, run.updated, run.closings = at(7, 0), c.updated, c.closings
		o := &overview{At: c.now, Runs: []runStatus{run}, samples: c.samples}
		if got := math.Round(o.pace()["m"]); got != c.want {
			t.Errorf("%s: %v rows a minute, want %v", c.name, got, c.want)
		}
	}
}

// TestOutlookThroughANode: a run goes no faster than a limit of its tenant lets it,
// and shares that with the tenant's other runs.
func TestOutlookThroughANode(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	acme := limiter.NodeState{Node: "tenant/acme", Limits: []limiter.LimitState{{
		Limit: limiter.Limit{Unit: limiter.Requests, Amount: 61}, Name: "rpm", Effective: 61, Classes: []limiter.ClassUse{{Class: "bulk"}},
	}}}
	a, b, other := openRun("a", jobs.Normal, 600), openRun("b", jobs.Normal, 600), openRun("c", jobs.Normal, 600)
	a.nodes, b.nodes = []limiter.NodeState{acme}, []limiter.NodeState{acme}
	o := newOutlook(nightLane(), []runStatus{a, b, other}, 0, now)
	for id, want := range map[string]time.Duration{"a": 20 * time.Minute, "c": 3 * time.Minute} {
		if at, known := o.of(id, 600); !known || at.Sub(now).Round(time.Minute) != want {
			t.Errorf("%s: done after %s, %v; want %s", id, at.Sub(now), known, want)
		}
	}
	if f, known := o.forecast("a"); !known || f.limit != "rpm of tenant/acme" {
		t.Errorf("%+v, %v", f, known)
	}
}

// TestForecastOverMidnight: a day's limit is named where its room ends before the
// day does, not because the end lies beyond a midnight.
func TestForecastOverMidnight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC) // ten hours before midnight in California
	for _, c := range []struct {
		left int64 // of the day
		want forecast
	}{
		{72_500, forecast{20 * time.Hour, "rpm", 0, 0}},
		{36_000, forecast{20 * time.Hour, "rpm", 0, 0}}, // just enough until midnight
		{18_000, forecast{25 * time.Hour, "rpd", 1, 0}},
	} {
		limits := []limiter.LimitState{
			{Limit: limiter.Limit{Unit: limiter.Requests, Amount: 61}, Name: "rpm", Effective: 61, Classes: []limiter.ClassUse{{Class: "bulk"}}},
			{
				Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Day, Amount: 80_000}, Name: "rpd", Effective: 80_000,
				Classes: []limiter.ClassUse{{Class: "bulk", Used: 80_000 - c.left}},
			},
		}
		run, lane := openRun("a", jobs.Normal, 72_000), nightLane() // 600 a minute
		byNode, byLane := run, lane
		byLane.Limits = limits
		byNode.nodes = []limiter.NodeState{{Node: "tenant/acme", Limits: limits}}
		f, known := newOutlook(byLane, []runStatus{run}, 0, now).forecast("a")
		if f.took = f.took.Round(time.Minute); !known || f != c.want {
			t.Errorf("the lane leaves %d: %+v, %v; want %+v", c.left, f, known, c.want)
		}
		f, known = newOutlook(lane, []runStatus{byNode}, 0, now).forecast("a")
		c.want.limit += " of tenant/acme"
		if f.took = f.took.Round(time.Minute); !known || f != c.want {
			t.Errorf("the tenant leaves %d: %+v, %v; want %+v", c.left, f, known, c.want)
		}
	}
}
