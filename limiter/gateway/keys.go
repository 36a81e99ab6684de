package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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
	secret = SecretPrefix + rand.Text() + rand.Text()
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
	switch {
	case len(key) < leastKey || len(key) > 512:
		return "", &IdentityError{"key", fmt.Sprintf("want %d to 512 characters, it has %d", leastKey, len(key))}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", &IdentityError{"key", "it holds a space, a line break or a character that no header can carry"}
	case strings.HasPrefix(key, SecretPrefix):
		return "", &IdentityError{"key", "keys that begin with " + SecretPrefix + " are made by `keys add`"}
	}
	i.Adopted = true
	return k.put(ctx, key, i)
}

func (k *Keys) put(ctx context.Context, key string, i Identity) (string, error) {
	i.Name = strings.TrimSpace(i.Name)
	if err := i.check(k.now()); err != nil {
		return "", err
	}
	hash := keyHash(key)
	i.ID, i.Created, i.Revoked = idOf(hash), k.now().UTC().Truncate(time.Second), time.Time{}
	i.Path.Key = cmp.Or(i.Path.Key, i.ID)
	b, err := json.Marshal(i)
	if err != nil {
		return "", err
	}
	fresh, err := k.rdb.HSetNX(ctx, redisKeys, hash, b).Result()
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
	if err != nil && !errors.Is(err, ErrRevoked) {
		return err
	}
	return &TakenError{Known: known, Project: i.Project}
}

// List gives all identities, revoked ones too, the oldest first.
func (k *Keys) List(ctx context.Context) ([]Identity, error) {
	all, err := k.all(ctx)
	return slices.SortedFunc(maps.Values(all), func(a, b Identity) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	}), err
}

// Revoke ends a key, named by its id, or by its name when only one key that
// holds has it. Every gateway refuses it within a second. It gives the identity
// as it was revoked; revoking again changes nothing. ErrUnknownKey is an id
// that no key has.
func (k *Keys) Revoke(ctx context.Context, id string) (Identity, error) {
	hash, i, err := k.find(ctx, id)
	if err != nil || !i.Revoked.IsZero() {
		return i, err
	}
	i.Revoked = k.now().UTC().Truncate(time.Second)
	if err := k.rdb.HSetNX(ctx, redisKeys, hash+revokedField, i.Revoked.Format(time.RFC3339)).Err(); err != nil {
		return Identity{}, fmt.Errorf("keys: %w", err)
	}
	k.cache.drop(hash)
	return i, nil
}
