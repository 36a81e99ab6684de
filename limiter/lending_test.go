package limiter

import (
	"slices"
	"testing"
	"time"
)

// A night and a morning on one lane, in virtual time: people who wait, and a
// queue of bulk jobs behind them. What the provider meets is counted by three
// providers at once. That bulk lends, gives back in time and finishes early are
// the figures for which lending exists.

var lendingLimits = Limits{RPM: 1000, InputTPM: 1_000_000}

const (
	nightFor   = 52 * time.Minute // people are asleep: 0.3 % of the limit
	leadFor    = 15 * time.Minute // before a rise that was learned the floor is that of the day
	quietTo    = nightFor - leadFor - time.Minute
	riseFor    = 10 * time.Minute // up to 14 %
	spikeEvery = 6 * time.Minute  // afterwards, to 42 % for a minute
)

// people is the rate of interactive calls a minute.
func people(at time.Duration) float64 {
	const night, day, spike = 3, 140, 420
	morning := at - nightFor
	switch {
	case morning < 0:
		return night
	case morning < riseFor:
		return night + (day-night)*float64(morning)/float64(riseFor)
	case (morning-riseFor)%spikeEvery < time.Minute:
		return spike
	}
	return day
}

// Of the rows, these are the night's: they can be done before the rise. The others
// wait behind them, so that bulk presses on through the morning.
const (
	nightRows   = 33_000
	morningRows = 32_000
)

// night is what came of one night.
type night struct {
	label        string
	bulk         float64       // a minute, in the quiet hours
	finish, all  time.Duration // of the night's rows, of the morning's too
	p95, longest time.Duration // that people waited
	refused      map[string]int
	people       int
}

// play puts bulk and people on the lane until every row was called.
func (s *street) play(label string) night {
	s.rows(nightRows + morningRows)
	rows := slices.Clone(s.pending[:nightRows])
	s.run(3*time.Hour, func() {
		s.ask()
		if s.floors != nil && s.since()%time.Minute == 0 {
			s.must(s.SetFloors(s.Context(), s.lane, s.floors(s.since()), s.now.Add(10*time.Minute)))
		}
	})
	s.wantDone()
	n := night{label: label, bulk: s.perMinute("bulk", 5*time.Minute, quietTo), all: s.since(),
		p95: s.quantile(0.95), longest: s.quantile(1), refused: refusals(s.met, lendingLimits), people: len(s.waits)}
	for _, j := range rows {
		n.finish = max(n.finish, j.granted)
	}
	return n
}

// learnedWeek are the floors of a week that was learned: 1.5 times the largest
// minute of the hour, which at night was next to nothing, and of the day from a
// quarter of an hour before its rise.
func learnedWeek(at time.Duration) []Floor {
	need := int64(9 * 3 / 2)
	if at >= nightFor-leadFor {
		need = 420 * 3 / 2
	}
	return []Floor{{Class: "interactive", Unit: Requests, Window: Minute, Amount: need},
		{Class: "interactive", Unit: InputTokens, Window: Minute, Amount: need * 800}}
}

// split is bulk in a quota of its own, a part of the limit that it never
// exceeds at a provider with a sliding minute; how many a minute get through.
func split(part float64) float64 {
	p, n := &slidingMinute{limit: int64(part * float64(lendingLimits.RPM))}, 0
	from, to := 5*time.Minute, quietTo
	for at := time.Duration(0); at < to; at += tick {
		for p.takes(at, 1) {
			if at >= from {
				n++
			}
		}
	}
	return float64(n) / (to - from).Minutes()
}

func TestLendingAtNight(t *testing.T) {
	t.Parallel()
	exact, usual := split(0.7), split(0.7*0.85)
	t.Logf("a fixed 30 %% split lets bulk have %.0f a minute, with the usual 0.85 margin %.0f", exact, usual)
	free := newStreet(t, "now", []Class{{Name: "interactive"}, {Name: "bulk", Smooth: true, Tickets: true}}).play("unprotected")
	week := newStreet(t, "auto", lendingClasses())
	week.floors = learnedWeek
	learned := week.play("auto, a week learned")
	kept := []night{learned}
	if !racing { // nights of one goroutine, in which there is nothing to race
		kept = append(kept, newStreet(t, "now", lendingClasses()).play("now"))
	}
	t.Logf("%-22s %9s %9s %9s | %9s %8s %9s | %9s %9s | %5s", "lend", "bulk/min", "of split", "of 0.85", "night's", "of free", "all done", "people p95", "longest", "429s")
	nights := append([]night{free}, kept...)
	if !racing {
		nights = append(nights, newStreet(t, "auto", lendingClasses()).play("auto, nothing learned"))
	}
	for _, n := range nights {
		t.Logf("%-22s %9.0f %9.2f %9.2f | %9s %8.3f %9s | %9s %9s | %5d", n.label, n.bulk, n.bulk/exact, n.bulk/usual, n.finish.Round(time.Second),
			n.finish.Seconds()/free.finish.Seconds(), n.all.Round(time.Second), n.p95, n.longest, n.refused["interactive"]+n.refused["bulk"])
		if len(n.refused) > 0 || n.people < 500 {
			t.Errorf("%s: the provider refused %v beside %d calls of people", n.label, n.refused, n.people)
		}
		if n.p95 > free.p95 {
			t.Errorf("%s: people wait %s (p95), unprotected %s", n.label, n.p95, free.p95)
		}
	}
	for _, n := range kept {
		if n.bulk < 1.35*exact || n.bulk < 1.55*usual {
			t.Errorf("%s: bulk has %.0f a minute; want 1.35 times %.0f and 1.55 times %.0f", n.label, n.bulk, exact, usual)
		}
		if n.finish.Seconds() > 1.08*free.finish.Seconds() {
			t.Errorf("%s: the night's rows are done after %s, unprotected after %s; want at most 1.08 of it", n.label, n.finish, free.finish)
		}
	}
}

// cold lets bulk borrow all for five minutes, then n people call within a second.
func (s *street) cold(n int) {
	const borrow = 5 * time.Minute
	s.rows(10_000)
	s.come = func(at time.Duration) int {
		if at >= borrow && at < borrow+time.Second {
			return n * int(tick) / int(time.Second)
		}
		return 0
	}
	s.run(borrow+2*time.Minute, s.ask)
}

func (s *street) wantWaits(p95, longest time.Duration) {
	s.Helper()
	met := refusals(s.met, lendingLimits)
	s.Logf("%d people: wait p50 %s, p95 %s, longest %s; provider's refusals %v", len(s.waits), s.quantile(0.5), s.quantile(0.95), s.quantile(1), met)
	if s.quantile(0.95) > p95 || s.quantile(1) > longest {
		s.Errorf("wait p95 %s, longest %s; want at most %s and %s", s.quantile(0.95), s.quantile(1), p95, longest)
	}
	if len(met) > 0 || len(s.waiting) > 0 {
		s.Errorf("the provider refused %v; %d people wait still", met, len(s.waiting))
	}
}

// 40 % of the limit are asked for in one second while bulk has borrowed all.
func TestColdSpike(t *testing.T) {
	t.Parallel()
	s := newStreet(t, "now", lendingClasses())
	s.cold(400)
	s.wantWaits(30*time.Second, 35*time.Second)
}

// What comes within the floor is served at once, however busy bulk is.
func TestSpikeWithinTheFloor(t *testing.T) {
	t.Parallel()
	s := newStreet(t, "auto", lendingClasses())
	s.cold(100)
	s.wantWaits(300*time.Millisecond, 35*time.Second)
}
