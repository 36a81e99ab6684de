package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
)

func TestParseDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "36h": 36 * time.Hour, "1.5d": 36 * time.Hour, "90m": 90 * time.Minute} {
		if got, err := parseDays(text); err != nil || got != want {
			t.Errorf("%s is %s (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "30", "0d", "-1d", "3x", "1e30d", "NaNd", "off"} {
		if got, err := parseDays(text); err == nil || !strings.Contains(err.Error(), "30d, 2w or 36h") {
			t.Errorf("%q is %s (%v)", text, got, err)
		}
	}
	for d, want := range map[time.Duration]string{720 * time.Hour: "30d", 36 * time.Hour: "36h", 90 * time.Minute: "1h30m",
		20 * time.Second: "20s", 100 * time.Second: "1m40s", 10 * time.Minute: "10m", time.Hour + 10*time.Second: "1h0m10s"} {
		if got := days(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
	if d, err := parseKeep("forever"); err != nil || d != jobs.KeepForever {
		t.Errorf("forever is %s (%v)", d, err)
	}
}

func TestRetentionChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"":                    {Reuse: "off", Retention: RetentionConfig{Results: "30d", Failed: "90d"}},
		"reuse: \"x\"":        {Reuse: "x"},
		"retention.results:":  {Retention: RetentionConfig{Results: "soon"}},
		"retention.failed:":   {Retention: RetentionConfig{Results: "30d", Failed: "never"}},
		"there is no":         {Retention: RetentionConfig{Failed: "90d"}},
		"less than retention": {Retention: RetentionConfig{Results: "30d", Failed: "7d"}},
	} {
		err := c.checkRetention()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", c.Retention, err, want)
		}
	}
	c := Config{Retention: RetentionConfig{Results: "30d"}}
	if r := c.retention(); r.Done != 30*day || r.Failed != 30*day {
		t.Errorf("%+v", r)
	}
}

// TestMemoryFits: an enqueue is refused when Redis cannot hold it, warned of when it
// nearly cannot, and tried where Redis tells nothing.
func TestMemoryFits(t *testing.T) {
	m := memory{used: 500 << 20, most: 1000 << 20}
	if w, err := m.fits(1000, 100<<20); w != "" || err != nil {
		t.Errorf("small: %q, %v", w, err)
	}
	if w, err := m.fits(1000, 400<<20); err != nil || !strings.Contains(w, "90 % full") {
		t.Errorf("nearly: %q, %v", w, err)
	}
	_, err := m.fits(1_000_000, 501<<20)
	if err == nil || !strings.Contains(err.Error(), "1,000,000 rows need about 501 MiB while they wait, 500 MiB of maxmemory 1000 MiB are free") || !strings.Contains(err.Error(), "purge --finished --dry-run") {
		t.Errorf("too large: %v", err)
	}
	if jobs.RowsMemory(10, 1000) != 1200+9000 {
		t.Error("1.2 × payload and 900 bytes a row")
	}
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	b := &backend{rdb: rdb, store: jobs.NewStore(rdb, jobs.StoreOptions{})}
	if w, err := b.fits(t.Context(), &jobs.Prepared{Rows: 1 << 40, Bytes: 1 << 50}); w != "" || err != nil {
		t.Errorf("where Redis does not tell: %q, %v", w, err)
	}
	if k := b.checkMemory(t.Context()); k.Verdict != verdictUnknown || !strings.Contains(k.Is, "no rows wait; one of 1 kB would take about 2.1 KiB") {
		t.Errorf("doctor: %+v", k)
	}
}

// TestAnswerFiles: the list keeps tenants and simulations apart, the latest first.
func TestAnswerFiles(t *testing.T) {
	dir := t.TempDir()
	l := &loaded{Config: Config{StateDir: dir, Gemini: GeminiConfig{Project: "p", API: "live"}}}
	if err := os.Mkdir(l.stateDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	acme := jobs.Spec{Tenant: "acme"}
	for _, name := range []string{"a", "b", "a"} {
		path := filepath.Join(dir, name)
		if err := writeJSON(path, 1); err != nil {
			t.Fatal(err)
		}
		if err := l.rememberAnswers(acme, path, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(l.answerFiles(acme), " "); got != filepath.Join(dir, "a")+" "+filepath.Join(dir, "b") {
		t.Errorf("files %s", got)
	}
	if l.answerFiles(jobs.Spec{}) != nil || l.answerFiles(jobs.Spec{Tenant: "acme", API: "simulated"}) != nil {
		t.Error("others see them")
	}
	if err := l.rememberAnswers(acme, filepath.Join(dir, "missing"), time.Now()); err != nil || len(l.answerFiles(acme)) != 2 {
		t.Errorf("a file that is not there: %v, %v", err, l.answerFiles(acme))
	}
}
