package scheduler

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// capped gives the rig's project a cap of so many dollars a month.
func (r *rig) capped(micro int64) {
	r.Helper()
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	r.must(r.lim.Configure(r.ctx(), limiter.Config{Scope: testScope, Classes: testClasses, SoftPPM: 920_000,
		Nodes: map[string]limiter.Limits{testScope.ProjectNode(): {USDPerMonth: micro}},
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000}, Lend: "now"}}}))
}

// spend makes a call that holds so much.
func (r *rig) spend(class string, micro int64, ticket string) error {
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	_, err = r.lim.Acquire(r.ctx(), limiter.Request{ID: uniqueID(), Lane: lane, Class: class, Feature: "x", Ticket: ticket,
		Amounts: limiter.Amounts{limiter.Requests: 1, limiter.MicroUSD: micro}})
	return err
}

// TestSpendLevels: each level is told of once in a month, whoever leads; a cap that
// is raised has levels of its own.
func TestSpendLevels(t *testing.T) {
	r := newRig(t, realRedis(t))
	r.capped(1_000_000)
	looks := func(want string) {
		t.Helper()
		before := r.events(limiter.EventAlert)
		for range 2 {
			r.must((&SpendWatch{Control: r.c, Owner: "s"}).Look(r.ctx())) // another leader each time
		}
		news := r.events(limiter.EventAlert)[len(before):]
		if got := strings.Join(news, "\n"); want == "" && got != "" || !strings.Contains(got, want) || len(news) > 1 {
			t.Errorf("told %q, want once %q", got, want)
		}
	}
	r.must(r.spend("interactive", 490_000, ""))
	looks("")
	r.must(r.spend("interactive", 20_000, ""))
	looks("usd_per_month of project/test: 51 % of the cap is spent or held, of $1.00: $0 spent, $0.51 held by calls under way")
	r.must(r.spend("interactive", 320_000, ""))
	looks("83 %")
	r.must(r.spend("bulk", 50_000, ""))
	if err := r.spend("bulk", 50_000, "row"); err == nil {
		t.Fatal("bulk went past the soft part")
	}
	looks("88 % of the cap is spent or held, of $1.00: $0 spent, $0.88 held by calls under way, and what waits may cost $0.05 a call: bulk wait and the others take the cheaper way where there is one until")
	r.must(r.spend("interactive", 120_000, ""))
	looks("all calls that cost money are refused until")
	r.capped(1_500_000)
	looks("66 %")
	looks("")
}

// TestOwnCapLevels: of a run's own cap it is said whose it is and how far it is spent; that
// a call does not fit stops nobody else, and is told by who stops the run.
func TestOwnCapLevels(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.MaxCost = 1_000_000 })
	s.look()
	ask := func(micro int64) {
		lane, err := limiter.ParseLane(testLane)
		s.must(err)
		_, _ = s.lim.Acquire(s.ctx(), limiter.Request{ID: uniqueID(), Lane: lane, Class: "bulk", Path: PathOf(s.run), Feature: "x", Ticket: "row",
			Amounts: limiter.Amounts{limiter.Requests: 1, limiter.MicroUSD: micro}})
		s.must((&SpendWatch{Control: s.c, Owner: "s"}).Look(s.ctx()))
	}
	ask(90_000)
	ask(950_000) // does not fit
	s.wantEvents(limiter.EventAlert, 0, "")
	ask(450_000)
	s.wantEvents(limiter.EventAlert, 1, s.run.Title()+": 54 % of its --max-cost $1.00 is spent or held: $0 spent, $0.54 held by calls under way")
	ask(455_000) // to 99.5 %
	s.wantEvents(limiter.EventAlert, 2, "99 % of its --max-cost")
}

// TestMoneyStopsAreRemembered: rows in line that a cap stopped waited for money from the
// look that found it to the one that found it raised.
func TestMoneyStopsAreRemembered(t *testing.T) {
	r := newRig(t, realRedis(t))
	r.capped(1_000_000)
	w := &SpendWatch{Control: r.c, Owner: "s"}
	lane, err := limiter.ParseLane(testLane)
	r.must(err)
	closed := func() []limiter.Closing {
		r.must(w.Look(r.ctx()))
		list, err := r.lim.Closings(r.ctx(), lane, "bulk", limiter.Path{Run: "r1"}, "x")
		r.must(err)
		return list
	}
	r.must(r.spend("bulk", 900_000, ""))
	if list := closed(); len(list) != 0 {
		t.Errorf("nobody waits, and yet %+v", list)
	}
	if err := r.spend("bulk", 50_000, "row"); err == nil {
		t.Fatal("bulk went past the soft part")
	}
	list := closed()
	if len(list) != 1 || list[0].By != limiter.ByMoney || list[0].To.Sub(list[0].From) < spendEvery {
		t.Fatalf("%+v", list)
	}
	from := list[0].From
	r.capped(2_000_000)
	list = closed()
	now, err := r.c.now(r.ctx())
	r.must(err)
	if len(list) != 1 || !list[0].From.Equal(from) || list[0].To.After(now) {
		t.Errorf("raised by %v, and yet %+v", now, list)
	}
}

// TestSpendOutlook: a cap that has days to go is forecast by what was seen of the last
// day, or by what was spent since it began.
func TestSpendOutlook(t *testing.T) {
	start := time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC)
	s := limiter.CapState{Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Month, Amount: 50_000_000}, Used: 24_000_000, Start: start, End: start.AddDate(0, 1, 0)}
	now := start.Add(10 * 24 * time.Hour)
	o := outlook(s, spendMark{}, now) // $2.40 a day since the month began
	if o.PerHour != 100_000 || o.AtEnd != 72_000_000 || !o.Reached.Equal(now.Add(260*time.Hour)) {
		t.Errorf("%+v", o)
	}
	if text := levelText(o, now); !strings.Contains(text, "; at the mean pace since "+limiter.Instant(start)+" the cap is reached") || strings.Contains(text, "present") {
		t.Errorf("not what it is the mean of: %s", text)
	}
	m := spendMark{}.seen(12_000_000, now.Add(-24*time.Hour)) // $12 in a day
	o = outlook(s, m, now)
	if o.PerHour != 500_000 || !o.Reached.Equal(now.Add(52*time.Hour)) {
		t.Errorf("%+v", o)
	}
	s.Used, o = 12_000_000, CapOutlook{}
	if o = outlook(s, m, now); o.PerHour != 0 || o.AtEnd != 12_000_000 || !o.Reached.IsZero() {
		t.Errorf("nothing lately: %+v", o)
	}
}

// TestSpendPace: what is full or over soon is judged by the last hours, and not by a day
// or a month of which most was quiet.
func TestSpendPace(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 9, 8, 0, 0, 0, time.UTC)
	now := start.Add(21*time.Hour + 30*time.Minute)
	day := limiter.CapState{Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Day, Amount: 100_000_000}, Start: start, End: start.AddDate(0, 0, 1)}
	month := limiter.CapState{Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Month, Amount: 100_000_000}, Start: start.AddDate(0, 0, -8), End: start.AddDate(0, 0, 22)}
	quiet, burns := spendMark{}, spendMark{} // $10 until the bulk of the last 2 1/2 hours: $20 an hour
	for h := range 22 {
		quiet = quiet.seen(10_000_000, start.Add(time.Duration(h)*time.Hour))
		burns = burns.seen(10_000_000+20_000_000*int64(max(0, h-19)), start.Add(time.Duration(h)*time.Hour))
	}
	fresh := spendMark{}.seen(10_000_000, now.Add(-10*time.Minute))
	for name, c := range map[string]struct {
		of      limiter.CapState
		m       spendMark
		used    int64
		since   time.Duration // before now
		perHour int64
		reached time.Duration // from now; 0: not before its end
	}{
		"a day that bulk began to spend": {day, burns, 60_000_000, 150 * time.Minute, 20_000_000, 2 * time.Hour},
		"a month that it spends":         {month, burns, 60_000_000, 150 * time.Minute, 20_000_000, 2 * time.Hour},
		"a day that goes on as it went":  {day, quiet, 10_000_000, 150 * time.Minute, 0, 0},
		"a leader that has just begun":   {month, fresh, 90_000_000, 10 * time.Minute, 480_000_000, 75 * time.Second},
	} {
		c.of.Used = c.used
		o := outlook(c.of, c.m, now)
		at := now.Add(c.reached).Truncate(time.Minute)
		if !o.Since.Equal(now.Add(-c.since)) || o.PerHour != c.perHour || o.Reached.Equal(at) != (c.reached > 0) {
			t.Errorf("%s: %d an hour since %s, reached %s", name, o.PerHour, o.Since, o.Reached)
		}
	}
}
