package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// verdicts are what was found, as "what: verdict".
func verdicts(list []checkup) string {
	var out []string
	for _, k := range list {
		out = append(out, k.What+": "+string(k.Verdict))
	}
	return strings.Join(out, ", ")
}

// TestDoctorPorts: what others reach is named, and a fault where nothing keeps them out.
func TestDoctorPorts(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Config){
		"ports: ok":            func(*Config) {},
		"gateway port: note":   func(c *Config) { c.Gateway.Listen = "0.0.0.0:8484" },
		"gateway port: BAD":    func(c *Config) { c.Gateway.Listen, c.Gateway.Observe = "[::]:8484", true },
		"dashboard port: BAD":  func(c *Config) { c.Dashboard.Listen = "10.0.0.1:8780" },
		"dashboard port: note": func(c *Config) { c.Dashboard.Listen, c.Dashboard.Token = "10.0.0.1:8780", "x" },
		"metrics port: note":   func(c *Config) { c.Worker.Metrics = "0.0.0.0:9464-9470" },
	} {
		l := &loaded{Config: Config{Gateway: GatewayConfig{Listen: "127.0.0.1:8484"}, Dashboard: DashboardConfig{Listen: ":8780"}}}
		change(&l.Config)
		if got := verdicts(l.checkPorts()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for text, want := range map[string]verdict{
		"redis://127.0.0.1:6379/0": verdictGood, "redis://localhost:6379": verdictGood, "redis://db.example:6379": verdictBad,
		"redis://:s3cret@db.example:6379": verdictNote, "rediss://u:s3cret@db.example:6379": verdictGood,
	} {
		if k := checkRedisOpen(text); k.Verdict != want || strings.Contains(k.Is+k.Remedy, "s3cret") {
			t.Errorf("%s: %+v, want %s", text, k, want)
		}
	}
}

// TestDoctorSettings: prices of long ago, workers' own traps, and limits that 429s have
// shown to be others.
func TestDoctorSettings(t *testing.T) {
	t.Parallel()
	c, err := hooksConfig(t, "models: {gemini-3.5-flash: {rpm: 60, concurrency: 8}}\nworker: {attempts: 1}")
	if err != nil {
		t.Fatal(err)
	}
	if got := verdicts(c.checkWorkerSettings()); got != "worker settings: note, worker settings: note" {
		t.Error(got)
	}
	day, _ := time.Parse(time.DateOnly, c.prices().Checked().String())
	for age, want := range map[time.Duration]string{time.Hour: "prices: ok", pricesOld + 48*time.Hour: "prices: note"} {
		if got := verdicts(c.checkPrices(day.Add(age))); got != want {
			t.Errorf("after %s %s, want %s", age, got, want)
		}
	}
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}
	low := []limiter.LaneState{{Lane: lane, Limits: []limiter.LimitState{{Name: "rpm", Lowered: &limiter.Lowering{PPM: 100}}}}}
	if got := verdicts(taught(low, nil)); got != "limits of m: note" {
		t.Error(got)
	}
	if got := taught(low, []scheduler.BypassEstimate{{Lane: lane.String(), Quota: 30, Configured: 60}}); len(got) != 1 || got[0].Verdict != verdictBad || !strings.HasPrefix(got[0].Remedy, "nightshift quota set m rpm=30") {
		t.Errorf("%+v", got)
	}
	if k := c.checkZones(); k.Verdict != verdictGood {
		t.Errorf("%+v", k)
	}
}

// TestDoctorPage: faults end with exit code 1 and stand before notes, each with its
// remedy; rows without a worker are a fault.
func TestDoctorPage(t *testing.T) {
	s := newSteered(t)
	if k := s.be.checkFleet(t.Context()); k.Verdict != verdictBad || k.Is != "none at work, and 10 rows wait" {
		t.Errorf("%+v", k)
	}
	var out bytes.Buffer
	f := &factory{streams: &streams{Out: &out, Err: &out}, now: time.Now}
	f.opts.output = "table"
	bad, err := f.printCheckups([]checkup{{"a", verdictGood, "fine", ""}, {"b", verdictNote, "so", "look"}, {"c", verdictBad, "no", "mend"}})
	if want := "\nto mend\n- c: mend\n\nto think of\n- b: look\n"; err != nil || bad != 1 || !strings.HasSuffix(out.String(), want) {
		t.Errorf("%d bad, %v:\n%s", bad, err, out.String())
	}
}
