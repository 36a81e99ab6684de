package gemini

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/limiter"
)

func readAll(t *testing.T, dir string, since time.Time) (out []Record) {
	t.Helper()
	err := ReadRecords(dir, since, func(r Record) error {
		out = append(out, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRecorderLosesNothing has many callers and a small queue; what Put took is
// there after Close.
func TestRecorderLosesNothing(t *testing.T) {
	dir := t.TempDir()
	r, err := RecorderOptions{Queue: 4, Patience: time.Minute}.Open(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				r.Put(Record{Time: time.Now(), Row: fmt.Sprint(i, "-", j), Error: "<a & b>"})
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, rec := range readAll(t, dir, time.Time{}) {
		rows[rec.Row] = true
	}
	if len(rows) != 800 || r.Dropped() != 0 {
		t.Errorf("%d records, %d dropped", len(rows), r.Dropped())
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	raw, _ := os.ReadFile(files[0])
	if !bytes.Contains(raw, []byte("<a & b>")) {
		t.Error("HTML escapes in the file")
	}
	r.Put(Record{})
	if err := r.Close(); err != nil || r.Dropped() != 1 {
		t.Errorf("%v, %d dropped after Close", err, r.Dropped())
	}
}

func TestRecorderTurnsTheHourAndForgets(t *testing.T) {
	dir := t.TempDir()
	for name := range map[string]int{"calls-20261127T19-1.jsonl": 0, "calls-20261127T20-1.jsonl": 0, "calls-notes.jsonl": 0, "other.txt": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	now := noon // 20:00 UTC
	r, err := RecorderOptions{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}.Open(dir, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.Put(Record{Time: now, Row: "1"})
	r.queueEmpty(t)
	mu.Lock()
	now = now.Add(61 * time.Minute)
	mu.Unlock()
	r.Put(Record{Time: now, Row: "2"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	var got []string
	for _, n := range names {
		base, _, _ := strings.Cut(filepath.Base(n), "-"+fmt.Sprint(os.Getpid()))
		got = append(got, base)
	}
	if want := "[calls-20261129T20 calls-20261129T21 calls-notes.jsonl other.txt]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if late := readAll(t, dir, noon.Add(time.Hour)); len(late) != 1 || late[0].Row != "2" {
		t.Errorf("%+v", late)
	}
}

// queueEmpty waits until the writer has taken all, by filling the queue behind it.
func (r *Recorder) queueEmpty(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		files, _ := filepath.Glob(filepath.Join(r.dir, "calls-20261129*"))
		if len(files) > 0 {
			if info, err := os.Stat(files[0]); err == nil && info.Size() > 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is written")
		}
	}
}

func TestRecorderIsBounded(t *testing.T) {
	dir := t.TempDir()
	for _, hour := range []string{"17", "18", "19"} {
		if err := os.WriteFile(filepath.Join(dir, "calls-20261129T"+hour+"-1.jsonl"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := RecorderOptions{MaxBytes: 2500, Now: func() time.Time { return noon }}.Open(dir, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if files := recordFiles(dir); len(files) != 3 || files[0].hour.Hour() != 18 {
		t.Errorf("%+v", files)
	}
}

// TestRecorderDoesNotHoldCallsUp: the writer is stuck, Put gives up.
func TestRecorderDoesNotHoldCallsUp(t *testing.T) {
	r := &Recorder{opts: RecorderOptions{Patience: time.Millisecond}, queue: make(chan Record, 1)}
	r.Put(Record{})
	r.Put(Record{})
	if r.Dropped() != 1 {
		t.Errorf("%d dropped", r.Dropped())
	}
}

func TestTornRecordIsSkipped(t *testing.T) {
	dir := t.TempDir()
	text := `{"row":"1","time":"2026-11-29T20:00:00Z"}` + "\n" + `{"row":"2","ti` + "\n" + `{"row":"3","time":"2026-11-29T20:00:01Z"}` + "\n" + `{"row":"4`
	if err := os.WriteFile(filepath.Join(dir, "calls-20261129T20-1.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, dir, time.Time{}); len(got) != 2 || got[1].Row != "3" {
		t.Errorf("%+v", got)
	}
}

func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRecorder(file, 0); err == nil {
		t.Error("no error")
	}
}

// TestRecordOfEachEnd says what a report needs to know.
func TestRecordOfEachEnd(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		body     string
		refuse   error
		decision limiter.Decision
		sent     bool
		reason   string
	}{
		"good":     {200, good, nil, Admitted, true, ""},
		"refused":  {200, good, busy(time.Second), limiter.RejectedLocally, false, ""},
		"provider": {429, `{"error":{"code":429,"message":"Resource exhausted."}}`, nil, limiter.AdmittedThenProviderRejected, true, "capacity"},
	} {
		records, gate := &memory{}, &fakeGate{}
		if c.refuse != nil {
			gate.refuse = refuseFirst(1, c.refuse)
		}
		tr := newTestTransport(t, replies(c.status, "application/json", c.body), gate, func(cfg *TransportConfig) { cfg.Records = records })
		ctx := WithCaller(t.Context(), Caller{Class: "bulk", Feature: "tags", Run: "r1", Row: "7", Attempt: 2, TraceID: "t-1", Path: limiter.Path{Tenant: "acme"}})
		_, _ = tr.RoundTrip(post(ctx, generate, question))
		if len(records.kept) != 1 {
			t.Fatalf("%s: %d records", name, len(records.kept))
		}
		r := records.kept[0]
		if r.Decision != c.decision || r.Sent != c.sent || r.Reason != c.reason || r.Lane != "gemini/proj/global/gemini-2.5-flash" || r.Scope != "gemini/proj" ||
			r.Class != "bulk" || r.Feature != "tags" || r.Run != "r1" || r.Row != "7" || r.Attempt != 2 || r.TraceID != "t-1" || r.Path.Tenant != "acme" || r.Estimate[limiter.Requests] != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		if name == "good" && (r.MicroUSD == nil || *r.MicroUSD == 0 || r.Usage.Output() != 930 || r.Used[limiter.OutputTokens] != 930) {
			t.Errorf("%+v", r)
		}
		if name == "refused" && (r.Refusal != limiter.ReasonQuota || r.Limit != "rpm" || r.Error == "") {
			t.Errorf("%+v", r)
		}
	}
}

// TestPlaceInTheLineIsNoCall: a sweep of waiting jobs must not fill the disk.
func TestPlaceInTheLineIsNoCall(t *testing.T) {
	records, gate := &memory{}, &fakeGate{refuse: refuseFirst(1, &limiter.Denied{Reason: limiter.ReasonSlots, RetryAfterMS: 5})}
	tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) { c.Records = records })
	ctx := WithCaller(t.Context(), Caller{Class: "bulk", Feature: "tags", Ticket: "job-1", Full: true})
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil || len(records.kept) != 0 {
		t.Errorf("%v, %d records", err, len(records.kept))
	}
	if a := gate.acquired[0]; !a.Full || a.Ticket != "job-1" {
		t.Errorf("%+v", a)
	}
}
