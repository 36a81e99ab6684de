package gateway

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// keyring is a Keys on an embedded Redis, and a clock.
type keyring struct {
	*Keys
	*testing.T
	redis *miniredis.Miniredis
	now   time.Time
}

func newKeyring(t *testing.T) *keyring {
	t.Helper()
	k := &keyring{T: t, redis: miniredis.RunT(t), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	k.Keys = k.another()
	return k
}

// another is the Keys of another process on the same Redis and clock.
func (k *keyring) another() *Keys {
	rdb := redis.NewClient(&redis.Options{Addr: k.redis.Addr(), MaxRetries: -1})
	k.Cleanup(func() { _ = rdb.Close() })
	return NewKeys(rdb, func() time.Time { return k.now })
}

func (k *keyring) want(ks *Keys, key string, want error) Identity {
	k.Helper()
	i, err := ks.Lookup(k.Context(), key)
	if !errors.Is(err, want) {
		k.Fatalf("lookup: %v, want %v", err, want)
	}
	return i
}

var chatKey = Identity{Name: "chat", Project: "proj", Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme"}}

func TestAddAndLookup(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	secret, id, err := k.Add(t.Context(), chatKey)
	if err != nil || !strings.HasPrefix(secret, "nsk_") || len(secret) < 50 || len(id) != 14 {
		t.Fatalf("%q, %q, %v", secret, id, err)
	}
	want := chatKey
	want.ID, want.Path.Key, want.Created = id, id, k.now
	if got := k.want(k.Keys, secret, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, wrong := range []string{secret + "x", secret[:len(secret)-1], "", strings.ToLower(secret), id} {
		k.want(k.Keys, wrong, ErrUnknownKey)
	}
	for _, text := range []string{k.redis.Dump(), want.ID} {
		if strings.Contains(text, secret) || strings.Contains(text, secret[4:]) {
			t.Error("the secret is kept")
		}
	}
	list, err := k.List(t.Context())
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], want) {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestRevokedWithinASecond in every process, however often it was looked up.
func TestRevokedWithinASecond(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	secret, id, err := k.Add(t.Context(), chatKey)
	if err != nil {
		t.Fatal(err)
	}
	far := k.another()
	k.want(far, secret, nil)
	k.now = k.now.Add(900 * time.Millisecond)
	gone, err := k.Revoke(t.Context(), "chat")
	if err != nil || gone.ID != id || gone.Revoked.IsZero() {
		t.Fatalf("%+v, %v", gone, err)
	}
	k.want(k.Keys, secret, ErrRevoked)
	k.want(far, secret, nil) // it believes what it saw for a second
	k.now = k.now.Add(100 * time.Millisecond)
	if i := k.want(far, secret, ErrRevoked); i.ID != id {
		t.Errorf("%+v", i)
	}
	again, err := k.Revoke(t.Context(), id)
	if err != nil || !again.Revoked.Equal(gone.Revoked) {
		t.Errorf("revoked again: %+v, %v", again, err)
	}
	if _, err := k.Revoke(t.Context(), "chat"); !errors.Is(err, ErrRevoked) || !strings.Contains(err.Error(), "(chat) was revoked on 2026-11-30 12:00:00 UTC") {
		t.Errorf("by the name of a revoked key: %v", err)
	}
	if list, err := k.List(t.Context()); err != nil || len(list) != 1 || list[0].Revoked.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestRevokeByName wants one key that has it.
func TestRevokeByName(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	var ids []string
	for range 2 {
		_, id, err := k.Add(t.Context(), chatKey)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	_, err := k.Revoke(t.Context(), "chat")
	if err == nil || !strings.Contains(err.Error(), ids[0]) || !strings.Contains(err.Error(), ids[1]) {
		t.Errorf("%v", err)
	}
	if _, err := k.Revoke(t.Context(), ids[0]); err != nil {
		t.Error(err)
	}
	if i, err := k.Revoke(t.Context(), "chat"); err != nil || i.ID != ids[1] {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	i := chatKey
	i.Expires = k.now.Add(time.Hour)
	secret, _, err := k.Add(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	k.want(k.Keys, secret, nil)
	k.now = i.Expires.Add(-time.Millisecond)
	k.want(k.Keys, secret, nil)
	k.now = i.Expires
	k.want(k.Keys, secret, ErrExpired)
}

// TestAdopt: a team's own key becomes an identity, in one project only.
func TestAdopt(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	id, err := k.Adopt(t.Context(), theirKey, chatKey)
	if err != nil {
		t.Fatal(err)
	}
	if i := k.want(k.Keys, theirKey, nil); i.ID != id || !i.Adopted {
		t.Errorf("%+v", i)
	}
	other := chatKey
	other.Project = "second"
	for want, i := range map[string]Identity{"known already as " + id: chatKey, `of project "proj": a key belongs to one project`: other} {
		var taken *TakenError
		if _, err := k.Adopt(t.Context(), theirKey, i); !errors.As(err, &taken) || !strings.Contains(err.Error(), want) || taken.Known.ID != id {
			t.Errorf("adopted again for %s: %v", i.Project, err)
		}
	}
	if _, err := k.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var taken *TakenError
	if _, err := k.Adopt(t.Context(), theirKey, chatKey); !errors.As(err, &taken) || taken.Known.Revoked.IsZero() ||
		!strings.Contains(err.Error(), "(chat), revoked on 2026-11-30 12:00:00 UTC, and stays so: adopt another") {
		t.Errorf("a revoked key was adopted: %v", err)
	}
	for _, bad := range []string{"", "short", theirKey + " ", theirKey + "\n", theirKey + "ü", "nsk_" + strings.Repeat("A", 40), `"` + theirKey + `"`, "'" + theirKey + "'",
		"GEMINI_API_KEY=" + theirKey, "export KEY=" + theirKey, strings.Repeat("A", 600)} {
		var wrong *IdentityError
		if _, err := k.Adopt(t.Context(), bad, chatKey); !errors.As(err, &wrong) || wrong.Field != "key" || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestIdentitiesThatCannotBe name their field.
func TestIdentitiesThatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	for field, change := range map[string]func(*Identity){
		"name":        func(i *Identity) { i.Name = "  " },
		"name ":       func(i *Identity) { i.Name = "k_0123456789ab" },
		"project":     func(i *Identity) { i.Project = "" },
		"class":       func(i *Identity) { i.Class = "Very Important" },
		"feature":     func(i *Identity) { i.Feature = "a/b" },
		"expires":     func(i *Identity) { i.Expires = k.now },
		"path.tenant": func(i *Identity) { i.Path.Tenant = "a/b" },
		"path.team":   func(i *Identity) { i.Path.Team = "a b" },
	} {
		i := chatKey
		change(&i)
		var wrong *IdentityError
		if _, _, err := k.Add(t.Context(), i); !errors.As(err, &wrong) || wrong.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if list, err := k.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestRedisAway: known keys go on for a while, unknown ones are not mistaken
// for bad ones, and a client who leaves changes nothing.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	secret, _, err := k.Add(t.Context(), chatKey)
	if err != nil {
		t.Fatal(err)
	}
	k.want(k.Keys, secret, nil)
	k.redis.SetError("LOADING Redis is loading the dataset in memory")
	k.now = k.now.Add(9 * time.Minute)
	k.want(k.Keys, secret, nil)
	if _, err := k.Lookup(t.Context(), theirKey); err == nil || errors.Is(err, ErrUnknownKey) {
		t.Errorf("without Redis nobody knows that the key is bad: %v", err)
	}
	k.now = k.now.Add(time.Minute)
	if _, err := k.Lookup(t.Context(), secret); err == nil || errors.Is(err, ErrUnknownKey) {
		t.Errorf("after ten minutes: %v", err)
	}
	k.redis.SetError("")
	if _, err := k.Lookup(t.Context(), secret); err == nil {
		t.Error("it was looked for again at once: every call would wait for a Redis that hangs")
	}
	k.now = k.now.Add(lookRest)
	k.want(k.Keys, secret, nil)
	if _, err := k.Revoke(t.Context(), "chat"); err != nil {
		t.Fatal(err)
	}
	far := k.another()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := far.Lookup(gone, secret); !errors.Is(err, ErrRevoked) {
		t.Errorf("for a client that left: %v", err)
	}
}

// TestLookupsAreBounded: a flood of unknown keys is not kept, and does not push
// out the known ones.
func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	var c lookups
	c.put("known", lookup{identity: chatKey})
	for i := range 3 * mostKept {
		c.put(strings.Repeat("x", i%7)+time.Duration(i).String(), lookup{err: ErrUnknownKey})
		if len(c.kept) > mostKept {
			t.Fatalf("%d are kept", len(c.kept))
		}
	}
	if _, ok := c.get("known"); !ok {
		t.Error("the known key was pushed out")
	}
}

// TestPastedKeys: what to do is said of the commonest slips, and a key that ends
// with = is none of them.
func TestPastedKeys(t *testing.T) {
	t.Parallel()
	k := newKeyring(t)
	for bad, want := range map[string]string{
		"GEMINI_API_KEY=" + theirKey:        "what stands after the =",
		"export GEMINI_API_KEY=" + theirKey: "what stands after the =",
		`"` + theirKey + `"`:                "what stands between them",
	} {
		if _, err := k.Adopt(t.Context(), bad, chatKey); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), theirKey) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := k.Adopt(t.Context(), theirKey+"==", chatKey); err != nil {
		t.Error(err)
	}
}
