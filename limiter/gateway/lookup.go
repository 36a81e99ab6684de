package gateway

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How long a looked-up key is believed. A revoked key stops within fresh. While
// Redis is away nobody can revoke one there, so what was known lasts longer:
// else an outage of Redis would be one of the chat too.
const (
	fresh    = time.Second
	stale    = 10 * time.Minute
	lookTime = 2 * time.Second
	mostKept = 4096
)

// Lookup gives the identity of a key. ErrUnknownKey, ErrRevoked, ErrRotated and
// ErrExpired say why there is none to use; any other error is Redis's.
func (k *Keys) Lookup(ctx context.Context, key string) (Identity, error) {
	hash, now := keyHash(key), k.now()
	l, known := k.cache.get(hash)
	if !known || now.Sub(l.asked) >= fresh || now.Before(l.asked) {
		l = k.look(ctx, hash, now, l)
	}
	if l.err == nil && !l.identity.Expires.IsZero() && !now.Before(l.identity.Expires) {
		return l.identity, l.identity.over()
	}
	return l.identity, l.err
}

// look asks Redis, and falls back on what was known when Redis is away.
func (k *Keys) look(ctx context.Context, hash string, now time.Time, last lookup) lookup {
	// The client may leave meanwhile; that says nothing about Redis.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	at := now
	i, err := k.read(ctx, hash)
	if err != nil && !errors.Is(err, ErrUnknownKey) && !errors.Is(err, ErrRevoked) {
		if last.identity.ID == "" || last.err != nil || now.Sub(last.at) >= stale {
			return lookup{err: err}
		}
		i, err, at = last.identity, nil, last.at
	}
	l := lookup{identity: i, err: err, at: at, asked: now}
	k.cache.put(hash, l)
	return l
}

// lookup is what Redis said of a key.
type lookup struct {
	identity Identity
	err      error // nil, ErrUnknownKey or ErrRevoked
	at       time.Time
	asked    time.Time // last, also in vain: an outage must not hold up every call
}

// lookups remember them by hash. The zero value works.
type lookups struct {
	mu   sync.Mutex
	kept map[string]lookup // guarded by mu
}

func (c *lookups) get(hash string) (lookup, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.kept[hash]
	return l, ok
}

// put keeps an answer. Unknown keys must not push known ones out, so they go
// first when there are too many.
func (c *lookups) put(hash string, l lookup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]lookup{}
	}
	if len(c.kept) >= mostKept {
		c.shrinkLocked()
	}
	c.kept[hash] = l
}

func (c *lookups) shrinkLocked() {
	for h, l := range c.kept {
		if l.err != nil {
			delete(c.kept, h)
		}
	}
	if len(c.kept) >= mostKept {
		clear(c.kept)
	}
}

func (c *lookups) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
}
