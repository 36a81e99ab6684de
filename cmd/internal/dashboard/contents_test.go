package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"nightshift/jobs"
)

// TestContentsByRole: in asynqmon's lists and single tasks who only looks never sees what
// a row or a foreign task contains, whatever operators see; and these see it in full only
// where that is configured.
func TestContentsByRole(t *testing.T) {
	t.Parallel()
	b := newBacklog(t, realRedis(t), 3)
	task := b.take(t)
	res := jobs.Result{Row: "ticket-00000", Status: "failed", Error: &jobs.RowError{Cause: "safety", Message: "blocked: customer Ana"}}
	if _, err := b.store.Finish(t.Context(), task, res); err != nil {
		t.Fatal(err)
	}
	for _, contents := range []Contents{Redacted, Masked, Plain} {
		d := newDashboard(t, Config{Redis: b.rdb, Store: b.store, Token: testToken, ViewToken: testViewToken, Contents: contents})
		for token, shown := range map[string]bool{testViewToken: false, testToken: contents == Plain} {
			for path, secret := range map[string]string{"pending_tasks": "parcel", "tasks/" + task.ID(): "Ana"} {
				w := ask(t, d, http.MethodGet, "/queues/api/queues/"+testQueue+"/"+path, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
				if want(t, w, http.StatusOK, "ticket-0000"); strings.Contains(w.Body.String(), secret) != shown {
					t.Errorf("contents %d, %s as %s: shown is %v", contents, path, token, !shown)
				}
			}
		}
	}
}

// TestWithoutPersonal: what looks personal is left out; other figures stay.
func TestWithoutPersonal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tree 57 of a@b.com, +49 170 1234567, 4111111111111111": "tree 57 of [e-mail], [number], [number]",
		`{"card":"4111-1111-1111-1111","n":123456}`:             `{"card":"[number]","n":123456}`,
		"(030) 123 4567 or DE89 3704 0044 0532 0130 00":         "[number] or [account]",
		"due 2026-12-01, HTTP 503, 1,234 tokens":                "due 2026-12-01, HTTP 503, 1,234 tokens",
		"jürgen.müller@bücher.example wrote":                    "[e-mail] wrote",
	} {
		if got := withoutPersonal(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
