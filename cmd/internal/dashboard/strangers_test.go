package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestStrangersAreKept: a forged origin and a wrong token are in the audit log, so many
// a minute, and whoever has no name is called by the token.
func TestStrangersAreKept(t *testing.T) {
	t.Parallel()
	var kept []AuditEntry
	now := time.Now()
	d := newDashboard(t, Config{
		Redis: noRedis(t), Write: true, Token: testToken, ViewToken: testViewToken, TenantOf: acmesToken, Actions: operatorActions(),
		Record: func(_ context.Context, e AuditEntry) error { kept = append(kept, e); return nil }, Now: func() time.Time { return now },
	})
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	forged := func(r *http.Request) {
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	want(t, ask(t, d, "POST", "/do/pause", forged), http.StatusForbidden)
	want(t, ask(t, d, "GET", "/audit", bearer("guess")), http.StatusUnauthorized)
	if len(kept) != 2 || kept[0].What != "forged-origin" || !strings.Contains(kept[0].Text, "evil.example") || kept[1].What != "login" || kept[1].Who != nobody || kept[1].Result != ResultRefused {
		t.Fatalf("%+v", kept)
	}
	for range 3 * mostStrangers {
		want(t, ask(t, d, "POST", "/do/pause", forged), http.StatusForbidden)
	}
	if len(kept) != mostStrangers {
		t.Errorf("%d are kept in a minute", len(kept))
	}
	now = now.Add(time.Minute)
	want(t, ask(t, d, "POST", "/do/pause", forged), http.StatusForbidden)
	if last := kept[len(kept)-1]; len(kept) != mostStrangers+1 || !strings.Contains(last.Text, "(42 more") {
		t.Errorf("%d are kept, the last says %s", len(kept), last.Text)
	}
	for token, who := range map[string]string{testToken: "operate token (dashboard)", testViewToken: "view token (dashboard)", acmeToken: "tenant acme by token v_1 (dashboard)"} {
		r, _ := http.NewRequest("GET", "/", nil)
		bearer(token)(r)
		if v, _, ok := d.identify(r); !ok || v.By() != who {
			t.Errorf("%+v is called %s, want %s", v, v.By(), who)
		}
	}
}

// TestActionWithoutRedis: it answers that Redis does not, and does nothing.
func TestActionWithoutRedis(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{
		Redis: noRedis(t), Write: true, Patience: time.Millisecond, Away: func(error) error { return errors.New("the Redis at 127.0.0.1:1 does not answer") },
		Actions: []Action{{Name: "pause", Do: func(context.Context, Viewer, url.Values) (Outcome, error) { panic("it is done all the same") }}},
	})
	want(t, ask(t, d, "POST", "/do/pause"), http.StatusServiceUnavailable, "the Redis at 127.0.0.1:1 does not answer; nothing was changed")
}
