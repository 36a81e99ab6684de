package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// FuzzRead: what is refused is named, by its place in the file and each time the same; what
// is taken says the same when it is written and read again, and people come as it says.
func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		b, err := Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, text := range []string{
		"", "[]", "limits: {rpm: -1, input_tpm: -1}", "limits: {rpm: 9223372036854775807}\ntraffic: [{arrivals: {rpm: 1e300}}]",
		"limits: {rpm: 60}\ntraffic: [{arrivals: {hours: {\"9:00\": 10, \"10:00\": 100, 24:00: 1}}}]",
		"limits: {rpm: 60}\ntraffic: [{arrivals: {rpm: .inf}, input_tokens: {median: 9e18, sigma: .nan}}]",
		"limits: {rpm: 60}\nclasses: {\"a.b[c]'\": {floor: 1}}\nbulk: [{rows: 1, at: 8h}]",
		"duration: 1m\nlimits: {rpm: 60}\nbulk: [{rows: 3, priority: high}]\nprovider: {latency: {sigma: .nan}}",
		"duration: 1m\nlimits: {rpm: 60}\nzone: Asia/Tokyo\ntraffic: [{arrivals: {spikes: [{rpm: 9, from: 23:59, for: 2m, every: 3m, until: 00:30}]}}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Read(file)
		if err != nil {
			refusedScenario(t, file, err)
			return
		}
		text, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(text)
		if err != nil {
			t.Fatalf("%q is taken, and as %q it is not: %v", file, text, err)
		}
		if other, err := yaml.Marshal(again); err != nil || !bytes.Equal(other, text) || !again.start.Equal(s.start) {
			t.Errorf("%q\n%q\n%q, %v", file, text, other, err)
		}
		for i := range s.Traffic {
			asSaid(t, s, &s.Traffic[i])
		}
	})
}

func refusedScenario(t *testing.T, file []byte, err error) {
	t.Helper()
	wrong := new(FieldError)
	if !errors.As(err, &wrong) {
		return // the parser's: of several unknown keys it names any
	}
	if _, again := Read(file); again == nil || again.Error() != err.Error() {
		t.Errorf("%q: %v, and then %v", file, err, again)
	}
	if wrong.Path == "" || wrong.Problem == "" || wrong.Line(file) > bytes.Count(file, []byte("\n"))+bytes.Count(file, []byte("\r"))+1 {
		t.Errorf("%q: %+v in line %d", file, wrong, wrong.Line(file))
	}
}

// asSaid looks at how many come at the times of day that have a number, and how large
// their calls are.
func asSaid(t *testing.T, s *Scenario, of *Traffic) {
	t.Helper()
	for text, want := range of.Arrivals.Hours {
		at, _ := clockOf(text)
		if got := of.Arrivals.ofDay(at); math.Abs(got-want) > want/1e9 {
			t.Errorf("%v: %v at %s", of.Arrivals.Hours, got, text)
		}
	}
	for at := time.Duration(0); at < day; at += 17 * time.Minute {
		if got := of.Arrivals.rate(s.start.Add(at), false); !(got >= 0 && got <= of.Arrivals.most()*(1+1e-9)) {
			t.Errorf("%+v: %v come a minute, of at most %v", of.Arrivals, got, of.Arrivals.most())
		}
	}
	rng := s.random(1)
	for range 10 {
		in, out := of.Input.draw(rng), of.Output.draw(rng)
		if in < 1 || out < 1 || of.Input.Most > 0 && in > of.Input.Most || in > mostTokens || out > mostTokens {
			t.Errorf("%+v: %d and %d tokens", of.Size, in, out)
		}
	}
}

// TestCrowd: as many come as the scenario says, however many that are.
func TestCrowd(t *testing.T) {
	for rpm, spread := range map[float64]float64{60: 40, 120_000: 1500} {
		s := parse(t, fmt.Sprintf("duration: 1m\nlimits: {rpm: 60}\ntraffic: [{arrivals: {rpm: %v}}]", rpm))
		if got := float64(len(s.people())); math.Abs(got-rpm) > spread {
			t.Errorf("%v come in a minute, of %v", got, rpm)
		}
	}
}

// TestHoursByTime: the hour may have one digit, and 9:00 is before 10:00.
func TestHoursByTime(t *testing.T) {
	a := Arrivals{Hours: map[string]float64{"9:00": 10, "10:00": 100, "17:00": 0}}
	for at, want := range map[time.Duration]float64{9 * time.Hour: 10, 9*time.Hour + 30*time.Minute: 55, 10 * time.Hour: 100, 17 * time.Hour: 0} {
		if got := a.ofDay(at); got != want {
			t.Errorf("%v come at %s; want %v", got, at, want)
		}
	}
}

// TestScenarioErrorsAreTheSame: of several faults it is always the same that is told.
func TestScenarioErrorsAreTheSame(t *testing.T) {
	for _, text := range []string{
		"limits: {rpm: 1, input_tpm: -1, output_tpm: -1, rpd: -1, concurrency: -1}",
		"limits: {rpm: 1}\nworkers: {processes: -1, concurrency: -1, attempts: -1}",
		"limits: {rpm: 1}\nbulk: [{rows: 1, input_tokens: {median: -1}, output_tokens: {median: -1}}]",
		"limits: {rpm: 1}\nprovider: {latency: {base: -1s, per_token: -1s, arrival: -1s}}",
	} {
		for range 30 {
			refusedScenario(t, []byte(text), readError(t, text))
		}
	}
}

func readError(t *testing.T, text string) error {
	t.Helper()
	_, err := Read([]byte(text))
	if err == nil {
		t.Fatalf("%s is taken", text)
	}
	return err
}

// TestScenarioRefusesNoNumbers: what is not a number, or more than anybody sends, is no size.
func TestScenarioRefusesNoNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"traffic: [{arrivals: {rpm: 1}, input_tokens: {median: 8, sigma: .nan}}]":        "traffic[0].input_tokens",
		"traffic: [{arrivals: {rpm: 1}, output_tokens: {median: 9000000000000000000}}]":  "traffic[0].output_tokens",
		"traffic: [{arrivals: {rpm: 1}}]\nprovider: {latency: {base: 1s, sigma: .nan}}":  "provider.latency",
		"traffic: [{arrivals: {rpm: 1}}]\nprovider: {latency: {slow_share: .nan}}":       "provider.latency",
		"traffic: [{arrivals: {hours: {\"9:00\": 1, \"09:00\": 2}}}]":                    "traffic[0].arrivals.hours",
		"traffic: [{arrivals: {rpm: 1}}]\nclasses: {interactive: {guarantee: .nan}}":     "classes.interactive.guarantee",
		"traffic: [{arrivals: {spikes: [{rpm: .nan, from: \"8:30\", for: 1m}]}}]":        "traffic[0].arrivals.spikes[0]",
		"traffic: [{arrivals: {rpm: 1}}]\nnodes: {tenant/a: {rpm: 9000000000000000000}}": "nodes.tenant/a.rpm",
		"duration: 8 hours": "duration",
		"traffic: [{arrivals: {spikes: [{rpm: 1, from: \"8:30\", for: a minute}]}}]":               "traffic[0].arrivals.spikes[0].for",
		"traffic: [{arrivals: {rpm: 1}}]\nprovider: {limits: {rpm: -3}}":                           "provider.limits.rpm",
		"traffic: [{arrivals: {rpm: 1}}]\nprovider: {latency: {slow_share: 0.5, slow_factor: -3}}": "provider.latency",
		"traffic: [{arrivals: {rpm: 1}}]\nprovider: {spend: {month: -1}}":                          "provider.spend.month",
	} {
		err := readError(t, "limits: {rpm: 60}\n"+text)
		if wrong := new(FieldError); !errors.As(err, &wrong) || wrong.Path != want {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}
