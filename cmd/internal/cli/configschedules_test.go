package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSchedulesOfTheConfiguration: each takes any flag of enqueue by its name, its files
// lie beside the configuration, and what is wrong is said with the schedule's name.
func TestSchedulesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"rows.csv": "id,word\n1,x\n2,y\n", "t.tmpl": "say {{.word}}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(schedule string) (*loaded, error) {
		path := filepath.Join(dir, "nightshift.yaml")
		text := "gemini: {api: simulated}\nmodels: {m: {rpm: 10}}\nrun: {model: m}\nschedules:\n  - {name: nightly, " + schedule + "}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return loadConfig(path, nil, nil)
	}
	const good = "cron: 30 1 * * *, zone: Asia/Tokyo, input: rows.csv, template: t.tmpl"
	c, err := load(good + ", max_output_tokens: 100, priority: low, service-tier: flex, matrix: ['lang=de,fr']")
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := c.prepareSchedule(t.Context(), c.Schedules[0], "nightly@2026-12-01")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if s := b.Spec; b.Rows != 4 || s.Name != "nightly@2026-12-01" || s.Settings.MaxOutputTokens != 100 || s.Priority != "low" || s.Steer.ServiceTier != "flex" || s.Steer.Ramp != 10*time.Minute {
		t.Errorf("%d rows, %+v", b.Rows, s)
	}
	for schedule, want := range map[string]string{
		"cron: 30 25 * * *, input: rows.csv":          "schedules: nightly: cron: ",
		"cron: '@daily', input: rows.csv, zone: Mars": "schedules: nightly: zone: ",
		"cron: '@daily'": "schedules: nightly: input: ",
		"cron: '@daily', input: a.csv, missed: please": "schedules: nightly: missed: ",
	} {
		if _, err := load(schedule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schedule, err, want)
		}
	}
	for schedule, want := range map[string]string{
		good + ", tempalte: x":                           "tempalte: no key of a schedule",
		good + ", output: x":                             "output: no key of a schedule",
		strings.Replace(good, "rows.csv", "gone.csv", 1): "gone.csv",
	} {
		c, err := load(schedule)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.checkScheduleFlags(); (err != nil) != strings.Contains(want, "no key") {
			t.Errorf("%s: when the scheduler starts: %v", schedule, err)
		}
		if _, _, err := c.prepareSchedule(t.Context(), c.Schedules[0], ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schedule, err, want)
		}
	}
}
