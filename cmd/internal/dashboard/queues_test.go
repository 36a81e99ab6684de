package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestEveryListAnswers opens what asynqmon's pages ask for.
func TestEveryListAnswers(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 30)
	b.wait(t, 10)
	b.take(t)
	b.put(t, b.take(t), "archived", time.Now())
	b.put(t, b.take(t), "scheduled", time.Now().Add(time.Hour))
	d := newDashboard(t, Config{Redis: b.rdb, Store: b.store})
	q := "/queues/api/queues/" + testQueue
	for path, holds := range map[string]string{
		"/queues/api/queues":            `"queue":"` + testQueue + `"`,
		q:                               `"retry":10`,
		"/queues/api/queue_stats":       testQueue,
		q + "/active_tasks":             `row_index`,
		q + "/pending_tasks":            `row_index`,
		q + "/scheduled_tasks":          `row_index`,
		q + "/retry_tasks":              waitText,
		q + "/archived_tasks":           `row_index`,
		q + "/completed_tasks":          `"tasks":[]`,
		q + "/groups":                   `"groups"`,
		"/queues/api/servers":           `"servers"`,
		"/queues/api/redis_info":        `redis_version`,
		"/queues/api/metrics":           `"error_rate"`,
		"/queues/api/scheduler_entries": `"entries"`,
	} {
		w := ask(t, d, "GET", path)
		want(t, w, http.StatusOK, holds)
		if !json.Valid(w.Body.Bytes()) || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s is no JSON: %s %.80s", path, w.Header().Get("Content-Type"), w.Body)
		}
	}
	// The run's own retries, not the number that asynq is told.
	want(t, ask(t, d, "GET", q+"/retry_tasks"), http.StatusOK, `"max_retry":4,`)
	wantNot(t, ask(t, d, "GET", q+"/active_tasks"), "1048576")
	want(t, ask(t, d, "GET", q+"/tasks/nobody"), http.StatusNotFound, "no such task")
	want(t, ask(t, d, "GET", "/queues/api/queues/nobody"), http.StatusNotFound, "no such queue")
	want(t, ask(t, d, "GET", "/queues/api/nothing"), http.StatusNotFound, "no such call")
}

var route = regexp.MustCompile(`api\.HandleFunc\("([^"]+)", .*\.Methods\("(POST|DELETE)"\)`)

// TestEveryChangeIsDecided reads asynqmon's own table of routes, so that a
// route that a new version adds is refused until somebody thinks about it.
func TestEveryChangeIsDecided(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/hibiken/asynqmon").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "handler.go"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{
		"POST /queues/Q:pause": true, "POST /queues/Q:resume": true,
		"POST /queues/Q/retry_tasks/T:run": true, "POST /queues/Q/scheduled_tasks/T:run": true, "POST /queues/Q/archived_tasks/T:run": true,
		"DELETE /queues/Q/archived_tasks/T": true, "DELETE /queues/Q/completed_tasks/T": true,
	}
	routes := route.FindAllStringSubmatch(string(source), -1)
	if len(routes) < 40 {
		t.Fatalf("found %d routes that change something: has the table another form?", len(routes))
	}
	named := strings.NewReplacer("{qname}", "Q", "{task_id}", "T", "{gname}", "G")
	for _, r := range routes {
		method, path := r[2], named.Replace(r[1])
		a, ok := parseQueueCall(method, path)
		if !ok || a.Queue != "Q" || strings.Contains(path, "/T") != (a.Task == "T") {
			t.Errorf("%s %s was read as %+v, %v", method, path, a, ok)
		}
		call := method + " " + path
		switch reason := a.refusal(); {
		case allowed[call] && reason != "":
			t.Errorf("%s is refused: %s", call, reason)
		case !allowed[call] && reason == "":
			t.Errorf("%s is let through", call)
		case reason != "" && !strings.Contains(reason, "nightshift "):
			t.Errorf("%s: the refusal names no command: %s", call, reason)
		}
		delete(allowed, call)
	}
	for call := range allowed {
		t.Errorf("%s: asynqmon has no such route any more", call)
	}
}

func TestOddPathsAreNoActions(t *testing.T) {
	t.Parallel()
	rdb := realRedis(t)
	b := newBacklog(t, rdb, 3)
	d := newDashboard(t, Config{Redis: rdb, Write: true, Pauser: &fakePauser{}})
	for _, path := range []string{
		"/queues//api/queues/" + testQueue + "/pending_tasks:delete_all",
		"/queues/api//queues/" + testQueue + "/pending_tasks:archive_all",
		"/queues/api/queues/" + testQueue + "/./pending_tasks:archive_all",
		"/queues/api/queues/" + testQueue + "%2Fpending_tasks:archive_all",
		"/queues/api/queues/" + testQueue + "/pending_tasks:archive_all:run",
		"/queues/api/queues/" + testQueue + "/x/../pending_tasks:delete_all",
		"/queues/api/queues",
		"/queues/",
		"/queues/static/js/x",
	} {
		for _, method := range []string{"POST", "DELETE", "PUT", "PATCH"} {
			if w := ask(t, d, method, path); w.Code < 300 {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
	if n := rdb.LLen(t.Context(), "asynq:{"+testQueue+"}:pending").Val(); n != 3 {
		t.Errorf("%d of 3 tasks are left", n)
	}
	_ = b
}

func TestReadOnlyUnlessAsked(t *testing.T) {
	t.Parallel()
	rdb := realRedis(t)
	newBacklog(t, rdb, 3)
	p := &fakePauser{}
	d := newDashboard(t, Config{Redis: rdb, Pauser: p})
	want(t, ask(t, d, "POST", "/queues/api/queues/"+testQueue+":pause"), http.StatusMethodNotAllowed, `{"error":"This dashboard is read-only`, "nightshift pause "+testQueue)
	want(t, ask(t, d, "DELETE", "/queues/api/queues/"+testQueue+"/pending_tasks:delete_all"), http.StatusMethodNotAllowed)
	want(t, ask(t, d, "GET", "/queues/"), http.StatusOK, `FLAG_READ_ONLY="true"`, `data-mode="read-only"`)
	if len(p.asked()) > 0 {
		t.Errorf("the pauser was asked: %v", p.calls)
	}
}

// fakePauser notes what it is asked.
type fakePauser struct {
	mu    sync.Mutex
	calls []string
	err   error
}

func (p *fakePauser) PauseQueue(_ context.Context, queue, by string) error {
	return p.note("pause " + queue + " by " + by)
}

func (p *fakePauser) ResumeQueue(_ context.Context, queue, by string) error {
	return p.note("resume " + queue + " by " + by)
}

func (p *fakePauser) note(call string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
	return p.err
}

func (p *fakePauser) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (p *fakePauser) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

type hinted struct{ error }

func (hinted) Hint() string { return "nightshift resume bulk --override 30m" }

// TestPauseGoesThroughReasons: asynqmon itself would set or delete asynq's key.
func TestPauseGoesThroughReasons(t *testing.T) {
	t.Parallel()
	rdb := realRedis(t)
	newBacklog(t, rdb, 1)
	p := &fakePauser{}
	d := newDashboard(t, Config{Redis: rdb, Write: true, Pauser: p})
	want(t, ask(t, d, "POST", "/queues/api/queues/"+testQueue+":pause"), http.StatusNoContent)
	want(t, ask(t, d, "POST", "/queues/api/queues/"+testQueue+":resume"), http.StatusNoContent)
	if got := strings.Join(p.asked(), "; "); got != "pause "+testQueue+" by dashboard; resume "+testQueue+" by dashboard" {
		t.Errorf("asked %s", got)
	}
	if n := rdb.Exists(t.Context(), "asynq:{"+testQueue+"}:paused").Val(); n != 0 {
		t.Error("asynqmon wrote the key as well")
	}

	p.fail(hinted{errors.New("the health monitor holds it")})
	const says = "the health monitor holds it. Type: nightshift resume bulk --override 30m"
	want(t, ask(t, d, "POST", "/queues/api/queues/"+testQueue+":resume"), http.StatusConflict, `{"error":"`+says+`"}`)
	w := ask(t, d, "POST", "/queues/api/queues/"+testQueue+":resume", func(r *http.Request) { r.Header.Set("Accept", "application/json, text/plain, */*") })
	if got := strings.TrimSpace(w.Body.String()); got != says { // what asynqmon's page prints as it is
		t.Errorf("the page would show %q", got)
	}
	d = newDashboard(t, Config{Redis: rdb, Write: true})
	want(t, ask(t, d, "POST", "/queues/api/queues/"+testQueue+":pause"), http.StatusNotImplemented, "nightshift pause "+testQueue)
}

// TestSingleTasks runs a waiting task now and clears an archived one away.
func TestSingleTasks(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 5)
	waits, ended := b.take(t), b.take(t)
	b.put(t, waits, "retry", time.Now().Add(time.Hour))
	b.put(t, ended, "archived", time.Now())
	d := newDashboard(t, Config{Redis: b.rdb, Write: true})
	q := "/queues/api/queues/" + testQueue
	want(t, ask(t, d, "DELETE", q+"/retry_tasks/"+waits.ID()), http.StatusForbidden, "would come back", "nightshift cancel")
	want(t, ask(t, d, "POST", q+"/retry_tasks/"+waits.ID()+":archive"), http.StatusForbidden, "9,999", "nightshift pause")
	want(t, ask(t, d, "POST", q+"/retry_tasks/"+waits.ID()+":run"), http.StatusNoContent)
	want(t, ask(t, d, "DELETE", q+"/archived_tasks/"+ended.ID()), http.StatusNoContent)
	want(t, ask(t, d, "POST", q+"/retry_tasks/nobody:run"), http.StatusNotFound, "no such task")
	info, err := b.insp.GetQueueInfo(testQueue)
	if err != nil {
		t.Fatal(err)
	}
	if info.Pending != 4 || info.Retry != 0 || info.Archived != 0 {
		t.Errorf("left %+v", info)
	}
}

// TestForeignPagesCannotAct: the browser tells where a call comes from.
func TestForeignPagesCannotAct(t *testing.T) {
	t.Parallel()
	rdb := realRedis(t)
	newBacklog(t, rdb, 1)
	p := &fakePauser{}
	d := newDashboard(t, Config{Redis: rdb, Write: true, Pauser: p})
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		w := ask(t, d, "POST", "/queues/api/queues/"+testQueue+":pause", func(r *http.Request) { r.Header.Set(name, value) })
		want(t, w, http.StatusForbidden)
	}
	w := ask(t, d, "GET", "/queues/api/queues", func(r *http.Request) { r.Host = "evil.example:8780" })
	want(t, w, http.StatusMisdirectedRequest, "answers as localhost only")
	if len(p.asked()) > 0 {
		t.Errorf("the pauser was asked: %v", p.calls)
	}
}

// TestRedisForbidsMemoryUsage: a managed Redis; pages come without the figure.
func TestRedisForbidsMemoryUsage(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 12)
	if err := b.rdb.Do(t.Context(), "ACL", "SETUSER", "managed", "on", ">pw", "~*", "&*", "+@all", "-memory").Err(); err != nil {
		t.Fatal(err)
	}
	managed := redis.NewClient(&redis.Options{Addr: b.rdb.Options().Addr, Username: "managed", Password: "pw"})
	defer managed.Close()
	d := newDashboard(t, Config{Redis: managed})
	for _, path := range []string{"/queues/api/queues", "/queues/api/queues/" + testQueue, "/queues/api/queues/" + testQueue + "/pending_tasks"} {
		want(t, ask(t, d, "GET", path), http.StatusOK, `"pending":12`, `"memory_usage_bytes":0`)
	}
	want(t, ask(t, d, "GET", "/api/pauses"), http.StatusOK, "does not allow MEMORY USAGE")
	if err := d.sample(); err != nil || len(d.samples.names()) != 1 {
		t.Errorf("the metrics page has no data: %v", err)
	}
}

// TestGhost: an id in a list whose task was deleted by hand breaks plain
// asynqmon's queue list. Here the list comes, with the command that mends it.
func TestGhost(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 5)
	ghost := b.take(t)
	b.put(t, ghost, "retry", time.Now())
	b.rdb.Del(t.Context(), "asynq:{"+testQueue+"}:t:"+ghost.ID())
	if _, err := b.insp.GetQueueInfo(testQueue); err == nil {
		t.Fatal("asynq does not stumble over it any more: is all this still needed?")
	}
	d := newDashboard(t, Config{Redis: b.rdb})
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusOK, `"pending":4`)
	command := "redis-cli ZREM 'asynq:{" + testQueue + "}:retry' '" + ghost.ID() + "'"
	want(t, ask(t, d, "GET", "/api/pauses"), http.StatusOK, command)

	word := strings.Fields(strings.ReplaceAll(command, "'", ""))[1:]
	if err := b.rdb.Do(t.Context(), word[0], word[1], word[2]).Err(); err != nil {
		t.Fatal(err)
	}
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusOK)
	want(t, ask(t, d, "GET", "/api/pauses"), http.StatusOK, `"notes":[]`)
}

func TestPausesForTheBanner(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	since := time.Date(2026, 11, 30, 7, 42, 0, 0, time.UTC)
	d := newDashboard(t, Config{Redis: rdb, Sources: Sources{Pauses: func(context.Context) ([]PauseView, error) {
		return []PauseView{{Target: "bulk", Reason: "health", Owner: "scheduler", Since: since}}, nil
	}}})
	w := ask(t, d, "GET", "/api/pauses")
	want(t, w, http.StatusOK, `{"target":"bulk","reason":"health","owner":"scheduler","since":"2026-11-30T07:42:00Z"}`)
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("an answer of the API may be kept by caches")
	}
	want(t, ask(t, d, "GET", "/queues/api/queues"), http.StatusServiceUnavailable, "Redis does not answer")

	d = newDashboard(t, Config{Redis: rdb, Sources: Sources{Pauses: func(context.Context) ([]PauseView, error) { return nil, errors.New("secret detail") }}})
	w = ask(t, d, "GET", "/api/pauses")
	want(t, w, http.StatusOK, "cannot be read")
	wantNot(t, w, "secret detail")
}
