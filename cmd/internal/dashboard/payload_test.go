package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// shownOf decodes what a page shows of a task.
func shownOf(t *testing.T, d *Dashboard, task jobs.Task) shownTask {
	t.Helper()
	w := ask(t, d, "GET", "/queues/api/queues/"+testQueue+"/tasks/"+task.ID())
	want(t, w, http.StatusOK)
	var out struct{ Payload, Result string }
	var p shownTask
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	p.text, p.result = out.Payload, out.Result
	if err := json.Unmarshal([]byte(out.Payload), &p); err != nil {
		t.Fatalf("the payload is no JSON: %s", out.Payload)
	}
	return p
}

type shownTask struct {
	Row, Run, State, Ended, Note string
	Index                        int64 `json:"row_index"`
	Fields                       map[string]json.RawMessage
	text, result                 string
}

// TestPayloadIsTheRow: the row as its user knows it, numbers as written, long
// texts cut, and the ledger's state.
func TestPayloadIsTheRow(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 3)
	d := newDashboard(t, Config{Redis: b.rdb, Store: b.store, Contents: Plain})
	task := b.take(t)
	p := shownOf(t, d, task)
	if p.Row != "ticket-00000" || p.Index != 0 || p.Run != "nightly-summaries ("+b.run.ID+")" || p.State != "running" {
		t.Errorf("shown as %+v", p)
	}
	if string(p.Fields["amount"]) != `"9007199254740993"` || !strings.HasSuffix(string(p.Fields["question"]), `…"`) {
		t.Errorf("fields %s", p.Fields)
	}
	if strings.Index(p.text, "customer") > strings.Index(p.text, "question") {
		t.Errorf("the columns changed their order: %s", p.text)
	}
	if !strings.Contains(p.result, "nightshift results") {
		t.Errorf("result %q", p.result)
	}

	if err := b.store.Wait(t.Context(), task, jobs.WaitQuota, jobs.Waits{}); err != nil {
		t.Fatal(err)
	}
	if p = shownOf(t, d, task); p.State != "waiting (not a failure)" {
		t.Errorf("a waiting row is %q", p.State)
	}
	res := jobs.Result{Row: p.Row, Status: "failed", Error: &jobs.RowError{Cause: "safety", Message: "blocked: customer Ana"}}
	if _, err := b.store.Finish(t.Context(), task, res); err != nil {
		t.Fatal(err)
	}
	if p = shownOf(t, d, task); p.State != "failed" || p.Ended != "failed: safety: blocked: customer Ana" {
		t.Errorf("a failed row is %+v", p)
	}
}

func TestMaskedPayload(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 3)
	d := newDashboard(t, Config{Redis: b.rdb, Store: b.store})
	task := b.take(t)
	res := jobs.Result{Row: "ticket-00000", Status: "failed", Error: &jobs.RowError{Cause: "safety", Message: "blocked: customer Ana"}}
	if _, err := b.store.Finish(t.Context(), task, res); err != nil {
		t.Fatal(err)
	}
	p := shownOf(t, d, task)
	if strings.Contains(p.text, "Ana") || strings.Contains(p.text, "parcel") || strings.Contains(p.text, "900719") {
		t.Errorf("not masked: %s", p.text)
	}
	if p.Row != "ticket-00000" || !strings.Contains(string(p.Fields["question"]), "characters)") || p.Ended != "failed: safety" {
		t.Errorf("nothing is left to work with: %s", p.text)
	}
	w := ask(t, d, "GET", "/queues/api/queues/"+testQueue+"/pending_tasks")
	wantNot(t, w, "parcel")
}

func TestPayloadOfWhatIsGone(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 2)
	d := newDashboard(t, Config{Redis: b.rdb, Store: b.store})
	task := b.take(t)
	if err := b.rdb.Del(t.Context(), "nightshift:jobs:{"+b.run.ID+"}:run").Err(); err != nil {
		t.Fatal(err)
	}
	if p := shownOf(t, d, task); !strings.Contains(p.Note, "purged") || p.Row != "ticket-00000" {
		t.Errorf("shown as %s", p.text)
	}
}

// TestSlowLookups: when the store does not answer, a page waits once.
func TestSlowLookups(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	f := newFormatter(Config{Store: jobs.NewStore(noRedis(t), jobs.StoreOptions{}), Now: func() time.Time { return now }})
	show := func(i int) string {
		return f.payload(jobs.TaskType, fmt.Appendf(nil, `{"v":1,"run":"r","n":%d,"row":"a"}`, i))
	}
	if got := show(1); got != `{"row":"a","row_index":1,"run":"r"}` {
		t.Errorf("shown as %s", got)
	}
	if !f.rest.until(now) || !f.rest.until(now.Add(lookupPause-1)) || f.rest.until(now.Add(lookupPause)) {
		t.Error("no rest after a lookup that failed, or it never ends")
	}
}

func TestForeignPayloads(t *testing.T) {
	t.Parallel()
	plain, masked := newFormatter(Config{Contents: Plain}), newFormatter(Config{})
	for _, c := range []struct{ typ, payload, plain, masked string }{
		{"mail", `{"to":"ana"}`, `{"to":"ana"}`, "(masked, 12 bytes)"},
		{"mail", "a\nb", "a\nb", "(masked, 3 bytes)"},
		{"mail", "", "(empty)", "(empty)"},
		{"mail", "\x00\x01\xff", "(binary, 3 bytes)", "(masked, 3 bytes)"},
		{"mail", strings.Repeat("é", 2000), strings.Repeat("é", 999) + "…", "(masked, 4000 bytes)"},
		{jobs.TaskType, "not ours", "not ours", "(masked, 8 bytes)"},
		{jobs.TaskType, `{"v":7,"run":"r","n":3,"row":"a"}`, `{"row":"a","row_index":3,"run":"r","note":"written by a newer nightshift (payload version 7)"}`, `{"row":"a","row_index":3,"run":"r","note":"written by a newer nightshift (payload version 7)"}`},
	} {
		if got := plain.payload(c.typ, []byte(c.payload)); got != c.plain {
			t.Errorf("%s %q is shown as %q", c.typ, c.payload, got)
		}
		if got := masked.payload(c.typ, []byte(c.payload)); got != c.masked {
			t.Errorf("%s %q is masked as %q", c.typ, c.payload, got)
		}
	}
}

func TestManyFields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `,"f%02d":{"deep":[%d]}`, i, i)
	}
	got := compact(newFormatter(Config{Contents: Plain}).fields(json.RawMessage("{" + b.String()[1:] + "}")))
	if !json.Valid([]byte(got)) || !strings.HasPrefix(got, `{"f00":{"deep":[0]}`) || !strings.HasSuffix(got, `,"…":"12 more"}`) {
		t.Errorf("shown as %s", got)
	}
	if got := newFormatter(Config{}).fields(json.RawMessage(`[1]`)); got != nil {
		t.Errorf("no object is shown as %v", got)
	}
}
