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

// all gives the identities by hash.
func (k *Keys) all(ctx context.Context) (map[string]Identity, error) {
	fields, err := k.rdb.HGetAll(ctx, redisKeys).Result()
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	out := map[string]Identity{}
	for hash, text := range fields {
		if strings.HasSuffix(hash, revokedField) {
			continue
		}
		if out[hash], err = parseIdentity(text, fields[hash+revokedField]); err != nil {
			return nil, err
		}
	}
	return out, nil
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

// find looks a key up by its id or its name.
func (k *Keys) find(ctx context.Context, id string) (hash string, found Identity, err error) {
	all, err := k.all(ctx)
	if err != nil {
		return "", Identity{}, err
	}
	var named []string
	for h, i := range all {
		if i.ID == id {
			return h, i, nil
		}
		if i.Name == id && i.Revoked.IsZero() {
			hash, found, named = h, i, append(named, i.ID)
		}
	}
	switch len(named) {
	case 0:
		return "", Identity{}, fmt.Errorf("keys: %q: %w", id, ErrUnknownKey)
	case 1:
		return hash, found, nil
	}
	slices.Sort(named)
	return "", Identity{}, fmt.Errorf("keys: %d keys are named %q: use an id of %s", len(named), id, strings.Join(named, ", "))
}

// read gives what is stored under a hash; a revoked key's identity comes with ErrRevoked.
func (k *Keys) read(ctx context.Context, hash string) (Identity, error) {
	got, err := k.rdb.HMGet(ctx, redisKeys, hash, hash+revokedField).Result()
	if err != nil {
		return Identity{}, fmt.Errorf("keys: %w", err)
	}
	text, ok := got[0].(string)
	if !ok {
		return Identity{}, ErrUnknownKey
	}
	revoked, _ := got[1].(string)
	i, err := parseIdentity(text, revoked)
	if err == nil && !i.Revoked.IsZero() {
		err = ErrRevoked
	}
	return i, err
}

func parseIdentity(text, revoked string) (Identity, error) {
	var i Identity
	if err := json.Unmarshal([]byte(text), &i); err != nil {
		return Identity{}, fmt.Errorf("keys: a stored identity cannot be read: %w", err)
	}
	if revoked == "" {
		return i, nil
	}
	at, err := time.Parse(time.RFC3339, revoked)
	if err != nil {
		return Identity{}, fmt.Errorf("keys: a stored revocation cannot be read: %w", err)
	}
	i.Revoked = at
	return i, nil
}
