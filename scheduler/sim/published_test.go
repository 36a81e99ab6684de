//go:build !race

// Whole nights take minutes under the race detector, and are played without it; what runs
// side by side is in the short ones too, of the other files.

package sim

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the figures that were played into testdata/published.json")

// figures are what is compared with the golden file. The play repeats itself; other
// machines may round differently, and one call more or less changes what comes after it.
type figures struct {
	Failed    float64 `json:"failed_percent"`
	P95       float64 `json:"p95_s"`
	Finish    float64 `json:"finish_min"`
	PerMinute float64 `json:"rows_per_min"`
	Refused   float64 `json:"provider_429"`
	Wasted    float64 `json:"wasted"`
	Back      float64 `json:"came_back"`
}

func figuresOf(o *Outcome) figures {
	return figures{100 * o.People.FailedShare(), o.People.P95.Seconds(), o.Bulk.Finish.Minutes(), o.Bulk.PerMinute, float64(o.Provider429), float64(o.Wasted), o.Bulk.Reschedules}
}

// near allows a twentieth, and what is next to nothing.
func (f figures) near(g figures) bool {
	ok := func(a, b, least float64) bool { return math.Abs(a-b) <= max(least, 0.05*math.Abs(b)) }
	return ok(f.Failed, g.Failed, 0.3) && ok(f.P95, g.P95, 0.1) && ok(f.Finish, g.Finish, 0.5) && ok(f.PerMinute, g.PerMinute, 1) &&
		ok(f.Refused, g.Refused, 20) && ok(f.Wasted, g.Wasted, 20) && ok(f.Back, g.Back, 0.1)
}

const golden = "testdata/published.json"

// holds compares what was played with the golden file.
func holds(t *testing.T, scenario string, played map[string]*Outcome) {
	t.Helper()
	all := map[string]map[string]figures{}
	b, err := os.ReadFile(golden)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update {
		all[scenario] = map[string]figures{}
		for name, o := range played {
			all[scenario][name] = figuresOf(o)
		}
		b, _ := json.MarshalIndent(all, "", "\t")
		if err := os.WriteFile(golden, append(b, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, o := range played {
		want, ok := all[scenario][name]
		if got := figuresOf(o); !ok || !got.near(want) {
			t.Errorf("%s, %s: %+v; the golden file has %+v (-update writes it anew, after a look at the difference)", scenario, name, got, want)
		}
	}
}

// What was published elsewhere of such a morning and such a night: before is bulk with
// plain retries, after a gate.
const (
	publishedFailed  = 0.03 / 100  // of people's first tries, after; 3.2 % before
	publishedP95     = 2.3         // s, after; 4.1 before
	publishedFinish  = 58.0 / 42.0 // of bulk, after ÷ before
	publishedAgainst = 1.22        // a night's rows ÷ those of a fixed split
	wasteAllowed     = 20          // calls in three hours after a cap
	sameOutside      = 0.95        // of a split that leaves for calls past the gate what ours does
)

// TestMorningPeak: bulk takes 82 % of the requests of a morning. With nightshift people
// meet what they would meet by themselves, and bulk ends sooner than was published.
func TestMorningPeak(t *testing.T) {
	t.Parallel()
	o := play(t, read(t, "morning-peak", Alone, Retry, Ours, OursLearned))
	holds(t, "morning-peak", o)
	before, alone := o[Retry], o[Alone]
	if bulk := float64(before.Bulk.Done) / float64(before.Bulk.Done+beforeEnd(before)); bulk < 0.80 || bulk > 0.84 {
		t.Errorf("bulk takes %.0f %% of the requests; want 82 %%", 100*bulk)
	}
	if before.People.FailedShare() < 0.02 {
		t.Errorf("without a gate %.2f %% fail: nothing to protect from", 100*before.People.FailedShare())
	}
	for _, name := range []string{Ours, OursLearned} {
		x := o[name]
		if x.People.FailedShare() > publishedFailed || x.Provider429 > 0 {
			t.Errorf("%s: %.3f %% of people's first tries fail, %d 429s; want at most %.2f %% and none", name, 100*x.People.FailedShare(), x.Provider429, 100*publishedFailed)
		}
		if p := x.People.P95.Seconds(); p > publishedP95 || p > 1.03*alone.People.P95.Seconds() || x.People.P95 > before.People.P95 {
			t.Errorf("%s: p95 %.2f s; want at most %.1f, what it is without bulk (%v), and no more than before (%v)", name, p, publishedP95, alone.People.P95, before.People.P95)
		}
		if ratio := x.Bulk.Finish.Minutes() / before.Bulk.Finish.Minutes(); x.Bulk.Finish == 0 || ratio > publishedFinish {
			t.Errorf("%s: bulk takes %.2f times as long as without a gate; want at most %.2f", name, ratio, publishedFinish)
		}
	}
}

// beforeEnd is how many people were served until bulk had ended.
func beforeEnd(o *Outcome) (n int64) {
	for _, p := range o.Points[:int(o.Bulk.Finish/time.Minute)] {
		n += p.People
	}
	return n
}

// TestNight: beside splits of the limit that are fixed by day. On the first night a tenth
// is kept for people of whom nothing is known: beside an exact split that leaves nothing
// for calls past the gate that is less than what was published, beside one that leaves as
// much as ours it is more.
func TestNight(t *testing.T) {
	t.Parallel()
	o := play(t, read(t, "night", FixedSplit, UsualSplit, Ours, OursLearned))
	holds(t, "night", o)
	exact, usual := o[FixedSplit].Bulk.PerMinute, o[UsualSplit].Bulk.PerMinute
	for name, least := range map[string]float64{Ours: 1.15, OursLearned: publishedAgainst} {
		if got := o[name].Bulk.PerMinute / exact; got < least {
			t.Errorf("%s: %.2f times the rows of an exact split; want at least %.2f", name, got, least)
		}
	}
	if got := o[Ours].Bulk.PerMinute / (sameOutside * exact); got < publishedAgainst {
		t.Errorf("first night: %.2f times the rows of a split that leaves as much outside; want at least %.2f", got, publishedAgainst)
	}
	if got := o[Ours].Bulk.PerMinute / usual; got < publishedAgainst {
		t.Errorf("first night: %.2f times the rows of a split with the usual margin; want at least %.2f", got, publishedAgainst)
	}
	for _, name := range []string{Ours, OursLearned} {
		if o[name].Provider429 > 0 || o[name].Bulk.Reschedules > 1.3 || o[name].People.Failed > 0 {
			t.Errorf("%s: %d 429s, %.2f times back, %d people refused", name, o[name].Provider429, o[name].Bulk.Reschedules, o[name].People.Failed)
		}
	}
}

// TestLongDocuments: a gate that counts requests alone meets the provider's 429s again.
func TestLongDocuments(t *testing.T) {
	t.Parallel()
	o := play(t, read(t, "long-documents"))
	holds(t, "long-documents", o)
	if o[RequestsOnly].Provider429 == 0 || o[RequestsOnly].People.Failed == 0 {
		t.Errorf("requests alone: %d 429s, %d people refused; want them back", o[RequestsOnly].Provider429, o[RequestsOnly].People.Failed)
	}
	for _, name := range []string{Ours, OursLearned} {
		if x := o[name]; x.Provider429 > 0 || x.MostTPM > 1_500_000 || x.People.FailedShare() > publishedFailed || x.Bulk.Done != x.Bulk.Rows {
			t.Errorf("%s: %d 429s, %d tokens in a minute, %d people refused, %d of %d rows", name, x.Provider429, x.MostTPM, x.People.Failed, x.Bulk.Done, x.Bulk.Rows)
		}
	}
}

// TestSpendCap: what goes out in three hours after a cap.
func TestSpendCap(t *testing.T) {
	t.Parallel()
	o := play(t, read(t, "spend-cap"))
	holds(t, "spend-cap", o)
	if o[Retry].Wasted < 1000 {
		t.Errorf("plain retries waste %d calls: the cap does not bite", o[Retry].Wasted)
	}
	for _, name := range []string{Ours, OursLearned} {
		if o[name].Wasted == 0 || o[name].Wasted > wasteAllowed {
			t.Errorf("%s: %d calls are wasted; want some, and at most %d", name, o[name].Wasted, wasteAllowed)
		}
	}
}

// TestFleet: from one worker to ten the total stays within the limit, in any window.
func TestFleet(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2, 4, 7, 10} {
		s := read(t, "fleet", Ours)
		s.Workers.Processes = processes
		o := runOne(t, s, Ours)
		t.Logf("%d workers: most %d rpm, %.0f rows a minute", processes, o.MostRPM, o.Bulk.PerMinute)
		if o.SentRPM > s.Limits.RPM || o.MostTPM > s.Limits.InputTPM || o.Provider429 > 0 {
			t.Errorf("%d workers: %d requests and %d tokens in a minute, %d 429s", processes, o.SentRPM, o.MostTPM, o.Provider429)
		}
		if processes == 10 && o.Bulk.PerMinute < 0.7*float64(s.Limits.RPM) {
			t.Errorf("ten workers do %.0f rows a minute", o.Bulk.PerMinute)
		}
	}
}

func runOne(t *testing.T, s *Scenario, policy string) *Outcome {
	t.Helper()
	o, err := Run(t.Context(), s, policy)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
