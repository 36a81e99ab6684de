package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Keys are the identities of all gateways that share a Redis. Key material is
// kept as a hash only. It is safe for concurrent use.
type Keys struct {
	rdb   redis.UniversalClient
	now   func() time.Time
	cache lookups
}

// NewKeys gives the keys in rdb; now may be nil for time.Now.
func NewKeys(rdb redis.UniversalClient, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{rdb: rdb, now: now}
}

// SecretPrefix begins every key that Add makes, so that scanners for leaked
// secrets can know it.
const SecretPrefix = "nsk_"

// leastKey is the shortest key that may be adopted: a shorter one is none of
// the provider's (theirs have 39 characters and more) and could be guessed.
const leastKey = 20

// Add makes a key for an identity, whose ID, Created, Adopted and Revoked it
// sets. The secret is given here and never again. A field that cannot be is an
// *IdentityError.
func (k *Keys) Add(ctx context.Context, i Identity) (secret, id string, err error) {
	secret = newSecret()
	i.Adopted = false
	id, err = k.put(ctx, secret, i)
	if err != nil {
		return "", "", err
	}
	return secret, id, nil
}

// Adopt gives an identity to a key that the caller has already, such as a
// team's key for Gemini. The key itself is not kept. One that is known already
// is a *TakenError.
func (k *Keys) Adopt(ctx context.Context, key string, i Identity) (id string, err error) {
	if err := adoptable(key); err != nil {
		return "", err
	}
	i.Adopted = true
	return k.put(ctx, key, i)
}

func newSecret() string { return SecretPrefix + rand.Text() + rand.Text() }

func (k *Keys) put(ctx context.Context, key string, i Identity) (string, error) {
	i.Name = strings.TrimSpace(i.Name)
	if idPattern.MatchString(i.Name) {
		return "", &IdentityError{"name", "that is the shape of a key's id: want another name, since keys are named by either"}
	}
	if err := i.check(k.now()); err != nil {
		return "", err
	}
	hash := keyHash(key)
	i.ID, i.Created, i.Revoked, i.Rotated = idOf(hash), k.now().UTC().Truncate(time.Second), time.Time{}, time.Time{}
	i.Path.Key = cmp.Or(i.Path.Key, i.ID)
	fresh, err := k.rdb.HSetNX(ctx, redisKeys, hash, jsonOf(i)).Result()
	if err != nil {
		return "", fmt.Errorf("keys: %w", err)
	}
	if !fresh {
		return "", k.taken(ctx, hash, i)
	}
	return i.ID, nil
}

func (k *Keys) taken(ctx context.Context, hash string, i Identity) error {
	known, err := k.read(ctx, hash)
	if err != nil && !over(err) {
		return err
	}
	return &TakenError{Known: known, Project: i.Project}
}

// List gives all identities, revoked ones too, the oldest first. One that was
// rotated is there once, with its newest secret's dates and OldUntil.
func (k *Keys) List(ctx context.Context) ([]Identity, error) {
	all, err := k.all(ctx, k.rdb)
	return slices.SortedFunc(maps.Values(newest(all, k.now())), func(a, b Identity) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	}), err
}

// newest gives identities by id, each with its newest secret's dates.
func newest(all map[string]Identity, now time.Time) map[string]Identity {
	out, until := map[string]Identity{}, map[string]time.Time{}
	for _, i := range all {
		switch {
		case i.Rotated.IsZero():
			out[i.ID] = i
		case i.Revoked.IsZero() && i.Expires.After(now) && i.Expires.After(until[i.ID]):
			until[i.ID] = i.Expires
		}
	}
	for id, i := range out {
		i.OldUntil = until[id]
		out[id] = i
	}
	return out
}

// Revoke ends a key with all its secrets, named by its id, or by its name when
// only one key that holds has it. Every gateway refuses it within a second. It
// gives the identity as it was revoked; revoking again changes nothing.
// ErrUnknownKey is an id that no key has, a *RevokedError a name that only revoked
// keys have.
func (k *Keys) Revoke(ctx context.Context, id string) (gone Identity, err error) {
	at := k.now().UTC().Truncate(time.Second)
	err = k.change(ctx, func(all map[string]Identity) (map[string]string, error) {
		if _, gone, err = pick(all, id); err != nil {
			return nil, err
		}
		fields := map[string]string{}
		for hash, i := range all {
			if i.ID == gone.ID && (i.Revoked.IsZero() || i.endedByRotation()) {
				fields[hash+revokedField] = i.revokedAt(at).Format(time.RFC3339)
			}
		}
		if gone.Revoked.IsZero() {
			gone.Revoked = at
		}
		return fields, nil
	})
	k.cache.clear()
	return gone, err
}
