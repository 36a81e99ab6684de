package gateway

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRotate: one identity, a new secret; the old one holds for its grace, in
// every process, and both count for the same path.
func TestRotate(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	old, id, err := k.Add(t.Context(), chatKey)
	if err != nil {
		t.Fatal(err)
	}
	far := k.another()
	was := k.want(far, old, nil)
	k.now = k.now.Add(time.Hour)
	secret, i, err := k.Rotate(t.Context(), "chat", Rotation{Grace: 24 * time.Hour})
	if err != nil || secret == old || !strings.HasPrefix(secret, SecretPrefix) || i.ID != id || i.Path != was.Path || !i.Created.Equal(k.now) {
		t.Fatalf("%q, %+v, %v", secret, i, err)
	}
	for _, s := range []string{old, secret} {
		if got := k.want(far, s, nil); got.ID != id || got.Path != was.Path {
			t.Errorf("%+v", got)
		}
	}
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id || !list[0].Rotated.IsZero() || !list[0].OldUntil.Equal(k.now.Add(24*time.Hour)) {
		t.Errorf("%+v, %v", list, err)
	}
	k.now = k.now.Add(24 * time.Hour)
	if i := k.want(far, old, ErrRotated); i.ID != id {
		t.Errorf("%+v", i)
	}
	k.want(far, secret, nil)
	if list, _ := k.List(t.Context()); !list[0].OldUntil.IsZero() {
		t.Errorf("%+v", list)
	}
	var taken *TakenError
	if _, err := k.Adopt(t.Context(), theirKey, chatKey); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Rotate(t.Context(), id, Rotation{Adopt: theirKey}); !errors.As(err, &taken) {
		t.Errorf("somebody's key was taken as a new secret: %v", err)
	}
	if strings.Contains(k.redis.Dump(), secret) {
		t.Error("the secret is kept")
	}
}

// TestRotateAtOnce: without grace every process refuses the old secret within a
// second, whatever its clock says; and revoking ends all secrets.
func TestRotateAtOnce(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	first, id, err := k.Add(t.Context(), chatKey)
	if err != nil {
		t.Fatal(err)
	}
	late := k.another()
	late.now = func() time.Time { return k.now.Add(-time.Minute) }
	k.want(late, first, nil)
	second, _, err := k.Rotate(t.Context(), id, Rotation{})
	if err != nil {
		t.Fatal(err)
	}
	k.want(k.Keys, first, ErrRotated)
	k.now = k.now.Add(fresh)
	k.want(late, first, ErrRotated) // the key holds, this secret of it does not
	third, _, err := k.Rotate(t.Context(), id, Rotation{Grace: time.Hour, Adopt: theirKey})
	if err != nil || third != "" {
		t.Fatalf("%q, %v", third, err)
	}
	if i := k.want(k.Keys, theirKey, nil); i.ID != id || !i.Adopted {
		t.Errorf("%+v", i)
	}
	k.want(late, second, nil)
	if gone, err := k.Revoke(t.Context(), id); err != nil || gone.Revoked.IsZero() {
		t.Fatalf("%+v, %v", gone, err)
	}
	k.now = k.now.Add(fresh)
	for _, s := range []string{first, second, theirKey} {
		k.want(late, s, ErrRevoked)
	}
	if _, _, err := k.Rotate(t.Context(), id, Rotation{}); !errors.Is(err, ErrRevoked) {
		t.Errorf("a revoked key was rotated: %v", err)
	}
	if _, _, err := k.Rotate(t.Context(), "k_0", Rotation{}); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("%v", err)
	}
}

// TestRotateExpired wants a new end; before it the end of the identity is the
// end of both secrets.
func TestRotateExpired(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	i := chatKey
	i.Expires = k.now.Add(time.Hour)
	old, id, err := k.Add(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	if _, now, err := k.Rotate(t.Context(), id, Rotation{Grace: 24 * time.Hour}); err != nil || !now.Expires.Equal(i.Expires) {
		t.Fatalf("%+v, %v", now, err)
	}
	k.now = i.Expires
	k.want(k.another(), old, ErrRotated)
	if _, _, err := k.Rotate(t.Context(), id, Rotation{}); !errors.Is(err, ErrExpired) {
		t.Errorf("%v", err)
	}
	secret, now, err := k.Rotate(t.Context(), id, Rotation{Expires: k.now.Add(time.Hour)})
	if err != nil || !now.Expires.Equal(k.now.Add(time.Hour)) {
		t.Fatalf("%+v, %v", now, err)
	}
	k.want(k.Keys, secret, nil)
}

// TestFeaturesOfAKey: calls for others are refused; the only one need not be named.
func TestFeaturesOfAKey(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	add := func(i Identity) string {
		i.Name, i.Project, i.Class = "test", "proj", "interactive"
		secret, _, err := s.keys.Add(t.Context(), i)
		s.must(err)
		return secret
	}
	two, one := add(Identity{Features: []string{"chat", "search"}}), add(Identity{Features: []string{"chat"}})
	for _, c := range []struct{ key, feature, text string }{
		{two, "tags", `may not be used for "tags", only for one of chat, search`},
		{one, "search", "only for one of chat"},
	} {
		if e := s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", c.key, "x-nightshift-feature", c.feature), http.StatusForbidden, c.text); e.Status != permissionDenied {
			t.Error(e.Status)
		}
	}
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", two), http.StatusBadRequest, "want a name of chat, search")
	for _, c := range []struct{ key, feature string }{{two, "search"}, {one, ""}, {one, "chat"}} {
		header := []string{"x-goog-api-key", c.key}
		if c.feature != "" {
			header = append(header, "x-nightshift-feature", c.feature)
		}
		if got := s.send(http.MethodPost, generate, question, header...); got.status != http.StatusOK {
			t.Errorf("%+v: %d %s", c, got.status, got.body)
		}
	}
	for field, i := range map[string]Identity{
		"feature":  {Feature: "tags", Features: []string{"chat"}},
		"features": {Features: []string{"chat", "chat"}},
	} {
		i.Name, i.Project, i.Class = "test", "proj", "interactive"
		var wrong *IdentityError
		if _, _, err := s.keys.Add(t.Context(), i); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestFeaturesThatThereAre: a misspelt feature is refused, not counted by itself.
func TestFeaturesThatThereAre(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{config: func(c *Config) { c.Features = []string{"chat", "search"} }})
	key := s.chat()
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", key, "x-nightshift-feature", "serach"), http.StatusBadRequest, `no feature "serach" (known: chat, search)`)
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", s.key("bulk", "tags")), http.StatusBadRequest, `no feature "tags"`)
	if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", key, "x-nightshift-feature", "search"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}
