package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// read gives a scenario that comes with the program.
func read(t *testing.T, name string, policies ...string) *Scenario {
	t.Helper()
	b, err := Source(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(b), policies...)
}

func parse(t *testing.T, text string, policies ...string) *Scenario {
	t.Helper()
	s, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(policies) > 0 {
		s.Policies = policies
	}
	return s
}

func runAll(t *testing.T, s *Scenario) []*Outcome {
	t.Helper()
	all, err := RunAll(t.Context(), s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStopped: a play ends when its context does, in the middle of a night.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if all, err := RunAll(ctx, parse(t, short), func(name string) { t.Errorf("%s was played to its end", name) }); !errors.Is(err, enough) {
		t.Errorf("%v, %v", all, err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	events := 0
	c := clock{}
	c.every(time.Second, func() {
		if events++; events == 10 {
			cancel(enough)
		}
	})
	if err := c.run(ctx, 1000*time.Hour); !errors.Is(err, enough) || events > 10+looksEvery {
		t.Errorf("%d events, %v", events, err)
	}
}

// play plays a scenario and logs what came of it.
func play(t *testing.T, s *Scenario) map[string]*Outcome {
	t.Helper()
	out := map[string]*Outcome{}
	for _, o := range runAll(t, s) {
		out[o.Policy] = o
		t.Logf("%-18s failed %d of %d, p95 %v; %d rows, finish %v, %.0f a minute, came back %.2f; 429s %d, wasted %d, most %d rpm %d tpm, used %.2f",
			o.Policy, o.People.Failed, o.People.Calls, o.People.P95, o.Bulk.Done, o.Bulk.Finish, o.Bulk.PerMinute, o.Bulk.Reschedules,
			o.Provider429, o.Wasted, o.MostRPM, o.MostTPM, o.Used)
	}
	return out
}

const short = `
duration: 10m
seed: 5
limits: {rpm: 200, input_tpm: 250000}
traffic:
  - arrivals: {rpm: 20, spikes: [{rpm: 60, from: "22:05", until: "22:10", every: 2m, for: 30s, unseen: true}]}
bulk:
  - rows: 1300
provider: {faults: ["503=1%"], latency: {base: 500ms, per_token: 3ms, sigma: 0.3, arrival: 200ms}}
workers: {processes: 1, concurrency: 16}
`

// TestUsualLatencyIsHealthy: where a scenario says nothing of latency, nothing holds bulk
// back; where the provider by itself is too slow, the advice says so.
func TestUsualLatencyIsHealthy(t *testing.T) {
	const text = "duration: 15m\nlimits: {rpm: 1000}\ntraffic: [{arrivals: {rpm: 60}}]\nbulk: [{rows: 30000}]\npolicies: [alone, nightshift]\n"
	usual := parse(t, text)
	all := runAll(t, usual)
	if o := Find(all, Ours); o.Bulk.PerMinute < 400 {
		t.Errorf("%.0f rows a minute beside 60 calls of people, of 1,000", o.Bulk.PerMinute)
	}
	if got := slow(all); got != nil {
		t.Errorf("%q", got)
	}
	all = runAll(t, parse(t, text+"provider: {latency: {base: 2s, per_token: 10ms}}"))
	if got := slow(all); len(got) != 1 || !strings.Contains(got[0], "health.p95") {
		t.Errorf("%q of people who wait %s", got, Find(all, Alone).People.P95)
	}
}

// TestSameNight: the same scenario gives the same result, whoever else runs beside it, and
// another seed another one.
func TestSameNight(t *testing.T) {
	t.Parallel()
	some := []string{Alone, Retry, ReservedBucket, Ours, OursLearned}
	a, b := runAll(t, parse(t, short, some...)), runAll(t, parse(t, short, some...))
	other := runAll(t, parse(t, strings.Replace(short, "seed: 5", "seed: 6", 1), some...))
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Errorf("%s: two plays of one scenario differ: %+v and %+v", a[i].Policy, a[i].People, b[i].People)
		}
		if reflect.DeepEqual(a[i].People, other[i].People) {
			t.Errorf("%s: another seed makes no difference", a[i].Policy)
		}
	}
}

// TestPoliciesDiffer: over the same calls each policy does what it stands for.
func TestPoliciesDiffer(t *testing.T) {
	t.Parallel()
	o := play(t, parse(t, short))
	for name, x := range o {
		if x.People.Calls != o[Alone].People.Calls {
			t.Errorf("%s: %d people; want the same %d", name, x.People.Calls, o[Alone].People.Calls)
		}
		if x.MostRPM > 200 || x.MostTPM > 250_000 {
			t.Errorf("%s: the provider admitted %d requests and %d tokens in a minute", name, x.MostRPM, x.MostTPM)
		}
	}
	if o[None].Bulk.Failed == 0 || o[Retry].Bulk.Failed != 0 {
		t.Errorf("without retries %d rows fail, with them %d", o[None].Bulk.Failed, o[Retry].Bulk.Failed)
	}
	if o[Retry].Provider429 < 100 || o[ReservedBucket].Provider429 == 0 {
		t.Errorf("without a gate %d 429s, with a bucket %d; both let more through than the limit", o[Retry].Provider429, o[ReservedBucket].Provider429)
	}
	for _, name := range []string{FixedSplit, UsualSplit, FixedCountdown, Ours, OursLearned, RequestsOnly} {
		if n := o[name].Provider429; n != 0 {
			t.Errorf("%s: %d 429s", name, n)
		}
	}
	if got := o[UsualSplit].Bulk.PerMinute / o[FixedSplit].Bulk.PerMinute; got < 0.80 || got > 0.90 {
		t.Errorf("a split with the usual margin does %.2f of an exact one", got)
	}
	if ours, fixed := o[Ours].Bulk.Reschedules, o[FixedCountdown].Bulk.Reschedules; fixed < 5*ours || ours > 1.5 {
		t.Errorf("a row comes back %.2f times, and %.2f times by a fixed countdown", ours, fixed)
	}
}

// TestScenariosAreRight: what comes with the program can be played.
func TestScenariosAreRight(t *testing.T) {
	t.Parallel()
	if len(Names()) < 2 {
		t.Fatal("no scenarios")
	}
	for _, name := range Names() {
		s := read(t, name)
		if s.Name != name && name != "example" || s.About == "" {
			t.Errorf("%s: name %q, about %q", name, s.Name, s.About)
		}
	}
	if _, err := Source("nothing"); err == nil || !strings.Contains(err.Error(), "morning-peak") {
		t.Errorf("an unknown name: %v; want those that there are", err)
	}
}

// TestWrongScenarios: what cannot be is refused with its line, and what would be right.
func TestWrongScenarios(t *testing.T) {
	t.Parallel()
	const good = "limits: {rpm: 10}\ntraffic:\n  - arrivals: {rpm: 1}\n"
	for _, c := range []struct {
		text, path string
		line       int
	}{
		{"traffic:\n  - arrivals: {rpm: 1}\n", "limits", 0},
		{"limits: {rpm: 10}\n", "traffic", 0},
		{"limits:\n  rpm: 10\n  input_tpm: -1\ntraffic: [{arrivals: {rpm: 1}}]\n", "limits.input_tpm", 3},
		{good + "start: tonight\n", "start", 4},
		{good + "zone: Mars\n", "zone", 4},
		{good + "duration: 3000h\n", "duration", 4},
		{good + "lend: sometimes\n", "lend", 4},
		{good + "outside: 1\n", "outside", 4},
		{good + "policies: [alone, mine]\n", "policies[1]", 4},
		{good + "classes:\n  people: {floor: 0.1}\n", "classes.people", 5},
		{good + "classes:\n  interactive: {floor: 2}\n", "classes.interactive.floor", 5},
		{good + "workers:\n  processes: -1\n", "workers.processes", 5},
		{good + "bulk:\n  - rows: 10\n  - rows: 0\n", "bulk[1].rows", 6},
		{good + "bulk:\n  - rows: 10\n    class: interactive\n", "bulk[0].class", 6},
		{good + "bulk:\n  - rows: 10\n    at: 24h\n", "bulk[0].at", 6},
		{good + "bulk:\n  - rows: 10\n    priority: urgent\n", "bulk[0].priority", 6},
		{good + "bulk:\n  - rows: 10\n    input_tokens: {median: 10, most: 5}\n", "bulk[0].input_tokens", 6},
		{good + "provider:\n  faults: [\"nonsense\"]\n", "provider.faults[0]", 5},
		{good + "provider:\n  counting: never\n", "provider.counting", 5},
		{good + "nodes:\n  team/x: {rpm: 1}\n", "nodes.team/x", 5},
		{good + "weights:\n  tenant/x: 0\n", "weights.tenant/x", 5},
		{"limits: {rpm: 10}\ntraffic:\n  - arrivals: {}\n", "traffic[0].arrivals", 3},
		{"limits: {rpm: 10}\ntraffic:\n  - arrivals:\n      hours: {\"25:00\": 3}\n", "traffic[0].arrivals.hours", 4},
		{"limits: {rpm: 10}\ntraffic:\n  - arrivals:\n      spikes:\n        - {rpm: 3, from: \"10:00\"}\n", "traffic[0].arrivals.spikes[0]", 5},
		{"limits: {rpm: 10}\ntraffic:\n  - class: bulk\n    arrivals: {rpm: 1}\n", "traffic[0].class", 3},
	} {
		_, err := Read([]byte(c.text))
		var wrong *FieldError
		if !errors.As(err, &wrong) || wrong.Path != c.path {
			t.Errorf("%q: %v; want an error of %s", c.text, err, c.path)
			continue
		}
		if got := wrong.Line([]byte(c.text)); got != c.line {
			t.Errorf("%s is in line %d; want %d", c.path, got, c.line)
		}
	}
	if _, err := Read([]byte(good + "limit: 3\n")); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("an unknown field: %v", err)
	}
}

// TestArrivals holds rates against what a day says.
func TestArrivals(t *testing.T) {
	t.Parallel()
	a := Arrivals{RPM: 1, Hours: map[string]float64{"06:00": 10, "08:00": 30, "22:00": 10},
		Spikes: []Spike{{RPM: 100, From: "23:30", Until: "00:30", Every: 20 * time.Minute, For: time.Minute}, {RPM: 5, From: "08:00", For: time.Hour, Unseen: true}}}
	for clock, want := range map[string]float64{
		"06:00": 11, "07:00": 21, "08:30": 36 - 30.0 + 30 - 20*0.5/14, "02:00": 11, "23:30": 111, "23:31": 11, "23:50": 111, "00:10": 111, "00:30": 11,
	} {
		at, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.rate(at, false); got < want-0.01 || got > want+0.01 {
			t.Errorf("at %s %.2f a minute come; want %.2f", clock, got, want)
		}
	}
	eight, _ := time.Parse("15:04", "08:00")
	if seen, learned := a.rate(eight, false), a.rate(eight, true); seen-learned != 5 {
		t.Errorf("an unseen spike is learned: %.1f and %.1f", seen, learned)
	}
	s := parse(t, "limits: {rpm: 1000}\nduration: 2h\ntraffic: [{arrivals: {rpm: 90}}, {arrivals: {rpm: 90, even: true}}]\n")
	n := map[string]int{}
	for _, p := range s.people() {
		n[fmt.Sprint(p.from.Arrivals.Even)]++
	}
	if n["false"] < 10_800-400 || n["false"] > 10_800+400 || n["true"] < 10_799 || n["true"] > 10_800 {
		t.Errorf("of 90 a minute %v came in two hours, by chance and evenly; want 10,800", n)
	}
}
