package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// receiver notes what it is sent and answers as it is told, at last with 204.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	answers []int
	got     []*http.Request
	bodies  []string
}

func newReceiver(t *testing.T, answers ...int) *receiver {
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		code := http.StatusNoContent
		if len(r.answers) > 0 {
			code, r.answers = r.answers[0], r.answers[1:]
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// hooked is a rig whose clock the test moves, with hooks.
type hooked struct {
	*rig
	hooks *Hooks
	at    time.Time
	log   bytes.Buffer
	run   jobs.Run
}

func newHooked(t *testing.T, hooks ...Hook) *hooked {
	h := &hooked{rig: newRig(t, realRedis(t)), at: time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)}
	h.c.Now = func() time.Time { return h.at }
	h.c.Logger = slog.New(slog.NewTextHandler(&h.log, nil))
	h.run = enqueued(t, h.store)
	h.hooks = &Hooks{Control: h.c, Hooks: hooks, Report: func(context.Context, string) (RunReport, error) {
		return RunReport{Title: "night", Short: "took <8 h>", Markdown: "# night\n", JSON: json.RawMessage(`{"good":1}`)}, nil
	}}
	return h
}

func (h *hooked) tell(kind string) {
	h.Helper()
	h.must(h.c.TellRun(h.Context(), RunEvent{Run: h.run.ID, Kind: kind, Text: "said <so>"}))
}

func (h *hooked) look() {
	h.Helper()
	h.must(h.hooks.Look(h.Context()))
}

// pending are the deliveries that wait, by their hook and attempts.
func (h *hooked) pending() []Delivery {
	h.Helper()
	ds, err := h.c.Deliveries(h.Context())
	h.must(err)
	return ds
}

// TestHookRetries: a receiver that fails twice is told in the end, each time under the
// same id and with a signature that holds, by another process than began; and then no more.
func TestHookRetries(t *testing.T) {
	to := newReceiver(t, 500, 429)
	secret := []byte("s3cret")
	h := newHooked(t, Hook{Name: "ops", URL: to.URL + "/T0/B0/urlsecret", Secret: secret})
	h.tell(RunFinished)
	h.tell(RunStarted) // not among what it is called on
	h.look()
	h.look() // nothing is due
	if ds := h.pending(); to.calls() != 1 || len(ds) != 1 || ds[0].Attempt != 1 || !ds[0].Next.Equal(h.at.Add(hookWaits[0])) || !strings.Contains(ds[0].Failed, "answers 500") {
		t.Fatalf("%d calls, pending %+v", to.calls(), ds)
	}
	h.hooks = &Hooks{Control: h.c, Hooks: h.hooks.Hooks, Report: h.hooks.Report} // the scheduler was started anew
	for range 4 {
		h.at = h.at.Add(10 * time.Minute)
		h.look()
	}
	if to.calls() != 3 || len(h.pending()) != 0 {
		t.Fatalf("%d calls, pending %+v", to.calls(), h.pending())
	}
	var m hookMessage
	h.must(json.Unmarshal([]byte(to.bodies[2]), &m))
	if m.Type != "run.finished" || m.Data.Text != "night has ended: said <so>" || string(m.Data.Report) != `{"good":1}` {
		t.Errorf("sent %s", to.bodies[2])
	}
	for i, req := range to.got {
		id := req.Header.Get("Webhook-Id")
		if id == "" || id != to.got[0].Header.Get("Webhook-Id") || id != m.Data.Delivery {
			t.Errorf("attempt %d has id %q", i, id)
		}
	}
	if want := "v1," + sign(secret, m.Data.Delivery, h.at.Add(-20*time.Minute), []byte(to.bodies[2])); to.got[2].Header.Get("Webhook-Signature") != want {
		t.Errorf("signature %q, want %q", to.got[2].Header.Get("Webhook-Signature"), want)
	}
	if strings.Contains(h.log.String(), "urlsecret") || strings.Contains(h.log.String(), "s3cret") {
		t.Errorf("the log tells the address:\n%s", h.log.String())
	}
}

// TestHookSignature : what is signed is id, time and body, as Standard Webhooks has it.
func TestHookSignature(t *testing.T) {
	// Computed with: printf 'msg_1.1674087231.{}' | openssl dgst -sha256 -hmac key -binary | base64
	if got := sign([]byte("key"), "msg_1", time.Unix(1674087231, 0), []byte("{}")); got != "uJRqrsVdxSA6rVfjmEImCxf3zzM+BfFD1xgW/wMdTPw=" {
		t.Errorf("%s", got)
	}
}

// TestHookGivesUp: after a day without an answer there is one alert, which names no
// address beyond its host, and nothing is kept.
func TestHookGivesUp(t *testing.T) {
	to := newReceiver(t)
	to.Close()
	h := newHooked(t, Hook{Name: "ops", URL: to.URL + "/urlsecret"})
	h.tell(RunHalted)
	for range 30 {
		h.look()
		h.at = h.at.Add(time.Hour)
	}
	alerts := h.events(limiter.EventAlert)
	if len(h.pending()) != 0 || len(alerts) != 1 || !strings.Contains(alerts[0], "hook ops was not told") || strings.Contains(alerts[0]+h.log.String(), "urlsecret") {
		t.Errorf("pending %+v, alerts %q", h.pending(), alerts)
	}
}

// TestHookRedirects: another host gets nothing, the same one does where the method stays.
func TestHookRedirects(t *testing.T) {
	elsewhere := newReceiver(t)
	var paths []string
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		paths = append(paths, req.Method+" "+req.URL.Path)
		switch req.URL.Path {
		case "/away":
			http.Redirect(w, req, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/get":
			http.Redirect(w, req, "/here", http.StatusFound)
		case "/stay":
			http.Redirect(w, req, "/here", http.StatusPermanentRedirect)
		}
	}))
	t.Cleanup(from.Close)
	h := newHooked(t)
	for path, want := range map[string]bool{"/away": false, "/get": false, "/stay": true} {
		err := h.hooks.Test(t.Context(), Hook{Name: "x", URL: from.URL + path}, RunEvent{Run: "r", Kind: RunFinished, At: h.at})
		if (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if elsewhere.calls() != 0 || !slices.Contains(paths, "POST /here") || slices.Contains(paths, "GET /here") {
		t.Errorf("elsewhere was called %d times; paths %q", elsewhere.calls(), paths)
	}
}

// TestHookSlow: a receiver that does not answer is given up for now.
func TestHookSlow(t *testing.T) {
	hold := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hold) })
	h := newHooked(t)
	err := h.hooks.Test(t.Context(), Hook{Name: "x", URL: slow.URL + "/urlsecret", Timeout: 50 * time.Millisecond}, RunEvent{Run: "r", Kind: RunFinished, At: h.at})
	if err == nil || !strings.Contains(err.Error(), "no answer in time") || strings.Contains(err.Error(), "urlsecret") {
		t.Errorf("%v", err)
	}
}

// TestHookDiesOnTheWay: what a process had begun to tell when it was killed is told by
// the next one, later.
func TestHookDiesOnTheWay(t *testing.T) {
	to := newReceiver(t)
	h := newHooked(t, Hook{Name: "ops", URL: to.URL})
	h.tell(RunFinished)
	ctx, kill := context.WithCancel(t.Context())
	report := h.hooks.Report
	h.hooks.Report = func(context.Context, string) (RunReport, error) { kill(); return RunReport{}, context.Canceled }
	if err := h.hooks.Look(ctx); err == nil || to.calls() != 0 {
		t.Fatalf("%v, %d calls", err, to.calls())
	}
	h.hooks.Report = report
	h.look()
	if to.calls() != 0 {
		t.Fatal("it was told while the other process may still be about to")
	}
	h.at = h.at.Add(time.Minute)
	h.look()
	if to.calls() != 1 || len(h.pending()) != 0 {
		t.Errorf("%d calls, pending %+v", to.calls(), h.pending())
	}
}

// TestHookCommand: it has the event in its environment and the report in a file; one that
// fails is tried again; keys of ours are not in its environment unless they are given.
func TestHookCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	h := newHooked(t, Hook{Name: "done", On: []string{RunFinished}, Command: `printf '%s|%s|%s|%s|' "$NIGHTSHIFT_EVENT" "$NIGHTSHIFT_RUN_NAME" "$NIGHTSHIFT_TEXT" "$GEMINI_API_KEY" >> "$OUT"; cat "$NIGHTSHIFT_REPORT" >> "$OUT"; echo said; test -e "$OUT.second" || { touch "$OUT.second"; exit 3; }`})
	t.Setenv("GEMINI_API_KEY", "AIzaSecret")
	h.hooks.Command = HookCommand{Env: []string{"PATH=" + os.Getenv("PATH"), "OUT=" + out}}
	h.tell(RunFinished)
	h.look()
	if ds := h.pending(); len(ds) != 1 || !strings.Contains(ds[0].Failed, "exit status 3") {
		t.Fatalf("pending %+v", ds)
	}
	h.at = h.at.Add(time.Minute)
	h.look()
	b, err := os.ReadFile(out)
	h.must(err)
	if want := strings.Repeat("finished|night|night has ended: said <so>||# night\n", 2); string(b) != want || len(h.pending()) != 0 {
		t.Errorf("wrote %q, want %q; pending %+v", b, want, h.pending())
	}
	if !strings.Contains(h.log.String(), "output=said") {
		t.Errorf("its output is not in the log:\n%s", h.log.String())
	}
}

// TestNotify: a run's own hooks are called for that run only, in Slack's form, and may
// not be commands.
func TestNotify(t *testing.T) {
	to := newReceiver(t)
	h := newHooked(t)
	h.must(h.c.Notify(t.Context(), h.run.ID, []Hook{{URL: to.URL, Format: HookSlack, On: []string{RunCapped}}}))
	h.tell(RunFinished)
	h.tell(RunCapped)
	h.must(h.c.TellRun(t.Context(), RunEvent{Run: "other", Kind: RunCapped}))
	h.look()
	if want := `{"text":"night is stopped by its cap: said &lt;so&gt;\ntook &lt;8 h&gt;"}`; to.calls() != 1 || to.bodies[0] != want {
		t.Errorf("%d calls: %q, want %s", to.calls(), to.bodies, want)
	}
	for _, bad := range []Hook{{Command: "rm -rf /"}, {URL: "ftp://x"}, {URL: to.URL, On: []string{"lunch"}}, {}} {
		if err := h.c.Notify(t.Context(), h.run.ID, []Hook{bad}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestLifeWatch: that a run begins, is stopped and ends is told once each, however many
// look; after a retry it ends again; what had ended before anybody looked is old.
func TestLifeWatch(t *testing.T) {
	h := newHooked(t)
	old := h.run
	finish := func(run jobs.Run) {
		t.Helper()
		c, err := h.store.Counts(t.Context(), run.ID)
		h.must(err)
		for i := range c.Total() {
			task := jobs.Task{Run: run.ID, Index: i}
			_, err := h.store.Begin(t.Context(), task)
			h.must(err)
			_, err = h.store.Finish(t.Context(), task, jobs.Result{Row: "r", Status: "failed", Error: &jobs.RowError{Cause: "x"}})
			h.must(err)
		}
	}
	kinds := func() []string {
		t.Helper()
		return h.events(EventRun)
	}
	finish(old)
	w := &LifeWatch{Control: h.c}
	h.must(w.Look(t.Context()))
	if got := kinds(); len(got) != 0 {
		t.Fatalf("an old end is told: %q", got)
	}
	n, err := h.store.Retry(t.Context(), old.ID, jobs.RetryFilter{})
	h.must(err)
	first := jobs.Task{Run: old.ID, Gen: 1}
	_, err = h.store.Begin(t.Context(), first)
	h.must(err)
	h.must(h.store.Wait(t.Context(), first, jobs.WaitPaused, jobs.Waits{})) // looked at, not called for
	h.must(w.Look(t.Context()))
	if got := kinds(); len(got) != 0 {
		t.Fatalf("a run that is paused before its first call has begun: %q", got)
	}
	h.must((&LifeWatch{Control: h.c}).Look(t.Context())) // another leader
	h.at = h.at.Add(time.Minute)
	for i := range n {
		task := jobs.Task{Run: old.ID, Index: i, Gen: 1}
		_, err := h.store.Begin(t.Context(), task)
		h.must(err)
		h.must(w.Look(t.Context()))
		_, err = h.store.Finish(t.Context(), task, jobs.Result{Row: "r", Status: "done", Output: "o"})
		h.must(err)
	}
	h.must(w.Look(t.Context()))
	h.must((&LifeWatch{Control: h.c}).Look(t.Context()))
	if got := kinds(); len(got) != 2 || !strings.Contains(got[0], "has begun") || !strings.Contains(got[1], "has ended: all") {
		t.Errorf("told %q", got)
	}
}

// TestFlexLeftIsTold: each time that flex is left, once of each run that goes by it and
// has begun; not when it was left and is tried again, and never as older than the run.
func TestFlexLeftIsTold(t *testing.T) {
	h := newHooked(t)
	enqueuedAs(t, h.store, "other")
	_, err := h.store.Steer(t.Context(), h.run.ID, func(x *jobs.Steering) error { x.ServiceTier = jobs.TierAuto; return nil })
	h.must(err)
	now, err := h.c.now(t.Context())
	h.must(err)
	left := func(since, until time.Time) []string {
		h.must(h.rdb.HSet(t.Context(), "nightshift:{flex:"+testLane+"}", "since", since.UnixMilli(), "until", until.UnixMilli()).Err())
		h.must((&LifeWatch{Control: h.c}).Look(t.Context()))
		h.must((&LifeWatch{Control: h.c}).Look(t.Context())) // another leader
		return slices.DeleteFunc(h.events(EventRun), func(e string) bool { return !strings.Contains(e, "is upgraded") })
	}
	if got := left(now.Add(-time.Hour), now.Add(time.Hour)); len(got) != 0 {
		t.Errorf("told %q of a run that has not begun", got)
	}
	_, err = h.store.Begin(t.Context(), jobs.Task{Run: h.run.ID})
	h.must(err)
	if got := left(now.Add(-2*time.Hour), now.Add(-time.Hour)); len(got) != 0 {
		t.Errorf("told %q while flex is tried", got)
	}
	for i := range 2 {
		got := left(h.run.Created.Add(-time.Duration(i+1)*time.Hour), now.Add(time.Hour))
		if len(got) != i+1 || !strings.Contains(got[i], "flex has no capacity: its rows go by standard") {
			t.Errorf("told %q", got)
		}
	}
	all, err := h.lim.Events(t.Context(), time.Time{}, 0)
	h.must(err)
	for _, e := range all {
		if at := e.Happened(); e.Kind == EventRun && at.Before(h.run.Created) {
			t.Errorf("%q is of %s, before the run was", e.Text, at)
		}
	}
}

// TestHooksSideBySide: a receiver that is slow holds up no other, and is left alone
// until it has answered.
func TestHooksSideBySide(t *testing.T) {
	hold, reached := make(chan struct{}), make(chan struct{}, 9)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{}; <-hold }))
	t.Cleanup(slow.Close)
	quick := newReceiver(t)
	h := newHooked(t, Hook{Name: "a slow", URL: slow.URL}, Hook{Name: "quick", URL: quick.URL})
	told := make(chan struct{}, 9)
	h.hooks.Base = roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(req)
		told <- struct{}{}
		return resp, err
	})
	h.tell(RunFinished)
	h.must(h.hooks.begin(t.Context()))
	<-reached
	<-told // the quick one: the slow one has not answered
	h.tell(RunHalted)
	h.must(h.hooks.begin(t.Context()))
	<-told
	if quick.calls() != 2 || len(reached) != 0 {
		t.Errorf("quick was called %d times, slow %d times more", quick.calls(), len(reached))
	}
	close(hold)
	h.hooks.going.Wait()
	h.look()
	if len(h.pending()) != 0 || len(reached) != 1 {
		t.Errorf("pending %+v, slow was called %d times more", h.pending(), len(reached))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestHookKeepsTheOrderOfARun: that a run has begun is not told after its end, though
// the first attempt to tell it failed.
func TestHookKeepsTheOrderOfARun(t *testing.T) {
	to := newReceiver(t, 500, 500)
	h := newHooked(t, Hook{Name: "ops", URL: to.URL, On: []string{RunStarted, RunFinished}})
	h.tell(RunStarted)
	h.look()
	h.at = h.at.Add(time.Second)
	h.tell(RunFinished)
	h.look() // the start goes before it, and fails again
	h.look()
	if to.calls() != 2 || len(h.pending()) != 2 {
		t.Fatalf("%d calls, pending %+v", to.calls(), h.pending())
	}
	h.at = h.at.Add(10 * time.Minute)
	h.look()
	var types []string
	for _, b := range to.bodies {
		var m hookMessage
		h.must(json.Unmarshal([]byte(b), &m))
		types = append(types, m.Type)
	}
	if got := strings.Join(types, " "); got != "run.started run.started run.started run.finished" || len(h.pending()) != 0 {
		t.Errorf("sent %s, pending %+v", got, h.pending())
	}
}

// TestEndedWords: rows that somebody cancelled are not told as if they had failed.
func TestEndedWords(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]jobs.Counts{
		"115 of 400 rows are good, 285 were cancelled":                  {jobs.Done: 115, jobs.Cancelled: 285},
		"1 of 6 rows are good, 2 were cancelled, 3 have no good answer": {jobs.Done: 1, jobs.Cancelled: 2, jobs.Failed: 3},
	} {
		if got := endedWords(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
