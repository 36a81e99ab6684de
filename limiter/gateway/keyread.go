package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// all gives the identities by hash.
func (k *Keys) all(ctx context.Context, from redis.Cmdable) (map[string]Identity, error) {
	fields, err := from.HGetAll(ctx, redisKeys).Result()
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

// pick looks an identity up by its id or its name, with its newest secret's hash.
// A *RevokedError is a name that only revoked keys have: it names the last.
func pick(all map[string]Identity, id string) (hash string, found Identity, err error) {
	var named []string
	var gone Identity
	for h, i := range all {
		if !i.Rotated.IsZero() {
			continue
		}
		if i.ID == id {
			return h, i, nil
		}
		if i.Name == id && i.Revoked.After(gone.Revoked) {
			gone = i
		}
		if i.Name == id && i.Revoked.IsZero() {
			hash, found, named = h, i, append(named, i.ID)
		}
	}
	switch len(named) {
	case 0:
		if gone.ID != "" {
			return "", gone, &RevokedError{gone}
		}
		return "", Identity{}, fmt.Errorf("keys: %q: %w", id, ErrUnknownKey)
	case 1:
		return hash, found, nil
	}
	slices.Sort(named)
	return "", Identity{}, fmt.Errorf("keys: %d keys are named %q: use an id of %s", len(named), id, strings.Join(named, ", "))
}

// change reads all identities and stores the fields that follow from them: all
// of them, or none when somebody else came between for too long.
func (k *Keys) change(ctx context.Context, then func(map[string]Identity) (map[string]string, error)) error {
	once := func(tx *redis.Tx) error {
		all, err := k.all(ctx, tx)
		if err != nil {
			return err
		}
		fields, err := then(all)
		if err != nil || len(fields) == 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.HSet(ctx, redisKeys, fields).Err() })
		return err
	}
	var err error = redis.TxFailedErr
	for tries := 0; tries < 20 && errors.Is(err, redis.TxFailedErr); tries++ {
		err = k.rdb.Watch(ctx, once, redisKeys)
	}
	if errors.Is(err, redis.TxFailedErr) {
		return errors.New("keys: others change them at the same time; nothing was changed")
	}
	return err
}

func jsonOf(i Identity) string {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err) // our own type: strings and times
	}
	return string(b)
}

// read gives what is stored under a hash; the identity of
// a secret that no longer holds comes with ErrRevoked or ErrRotated.
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
	switch {
	case err != nil || i.Revoked.IsZero():
	case i.endedByRotation():
		err = ErrRotated
	default:
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
