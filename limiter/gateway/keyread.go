package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
