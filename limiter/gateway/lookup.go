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
	lookTime = time.Second
	lookRest = 3 * time.Second // after a look in vain nobody else waits for another
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

// look asks Redis, and falls back on what was known when Redis is away. A person
// waits for its answer, so that is found out once in a while and not by each call.
func (k *Keys) look(ctx context.Context, hash string, now time.Time, last lookup) lookup {
	if err := k.cache.away(now); err != nil {
		return last.instead(err, now)
	}
	// The client may leave meanwhile; that says nothing about Redis.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	i, err := k.read(ctx, hash)
	if err != nil && !errors.Is(err, ErrUnknownKey) && !over(err) {
		k.cache.rest(err, k.now().Add(lookRest))
		return last.instead(err, now)
	}
	l := lookup{identity: i, err: err, at: now, asked: now}
	k.cache.rest(nil, time.Time{})
	k.cache.put(hash, l)
	return l
}

// instead is what counts while Redis does not answer: what was known, for a while.
func (l lookup) instead(err error, now time.Time) lookup {
	if l.identity.ID == "" || l.err != nil || now.Sub(l.at) >= stale {
		return lookup{err: err}
	}
	return l
}

// lookup is what Redis said of a key.
type lookup struct {
	identity Identity
	err      error // nil, ErrUnknownKey, ErrRevoked or ErrRotated
	at       time.Time
	asked    time.Time // last
}

// lookups remember them by hash. The zero value works.
type lookups struct {
	mu   sync.Mutex
	kept map[string]lookup // guarded by mu

	trouble error     // that the last look met; nil when it got an answer; guarded by mu
	until   time.Time // nobody looks before; guarded by mu
}

// away is why nobody looks now; nil when Redis answers, or is to be tried again.
func (c *lookups) away(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble == nil || now.Before(c.until) {
		return c.trouble
	}
	c.until = now.Add(lookTime) // the others go on while this one tries
	return nil
}

func (c *lookups) rest(trouble error, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble, c.until = trouble, until
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
