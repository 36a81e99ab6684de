package gemini

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"nightshift/limiter"
)

// KeyWatcher is told which key is in use, by a short hash, and how long ago the latest call
// that worked with it was sent; less than zero for none.
// *limiter.Redis is one.
type KeyWatcher interface {
	KeyInUse(ctx context.Context, hash string, ago time.Duration) error
}

// keyEvery is how often the key in use is told of: a new key, or one that works
// beside refused ones, is known within so long.
const keyEvery = 10 * time.Second

// keyUse is how this process's key does.
type keyUse struct {
	good  atomic.Int64 // when the latest call that worked was sent, in unix ms; 0: none since that was told
	alone atomic.Bool  // it is refused while another process's works, and that was told
}

// worked notes a call that was sent with the key then: an answer may come after the
// key was revoked.
func (k *keyUse) worked(sent time.Time) {
	k.good.Store(sent.UnixMilli())
	k.alone.Store(false)
}

// noter keeps events. *limiter.Redis is one.
type noter interface {
	Note(ctx context.Context, e limiter.Event) error
}

// alertAlone tells once that this process's key is refused while others' work.
func (t *Transport) alertAlone(ctx context.Context, v Verdict) {
	if t.keys.alone.Swap(true) {
		return
	}
	text := fmt.Sprintf("%s: %s; it comes from %s. Keys of other processes work: only this one's calls are refused, a worker's rows go back and others take them. Put a working key there",
		cmp.Or(t.cfg.Process, "a process"), inWords(v), cmp.Or(t.cfg.KeyFrom, "its configuration"))
	t.log.Error("this process's API key is refused, others' work", "from", t.cfg.KeyFrom, "reason", v.Reason)
	n, ok := t.cfg.Gate.(noter)
	if !ok {
		return
	}
	if err := n.Note(ctx, limiter.Event{Kind: limiter.EventAlert, Subject: "provider", By: t.cfg.Process, Text: text,
		Data: map[string]string{"reason": string(limiter.ReasonCredentials)}}); err != nil {
		t.log.Warn("an alert is not noted", "error", Redact(err.Error()))
	}
}

// keyHash tells keys apart without giving any of one away.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte("nightshift provider key\n" + key))
	return hex.EncodeToString(sum[:4])
}

// WatchKey tells the shared state of the key in use until the context ends. So a
// breaker that is open for a refused key lets this one look, when it is another, and
// a key that is refused here alone closes nothing for others.
func (t *Transport) WatchKey(ctx context.Context) {
	watcher, ok := t.cfg.Gate.(KeyWatcher)
	if !ok {
		return
	}
	for {
		t.tellKey(ctx, watcher)
		if !sleep(ctx, keyEvery) {
			return
		}
	}
}

func (t *Transport) tellKey(ctx context.Context, watcher KeyWatcher) {
	sent, ago := t.keys.good.Swap(0), time.Duration(-1)
	if sent > 0 {
		ago = max(0, t.cfg.Now().Sub(time.UnixMilli(sent)))
	}
	if err := watcher.KeyInUse(ctx, keyHash(t.cfg.Key()), ago); err != nil {
		t.keys.good.CompareAndSwap(0, sent) // told next time
		t.log.Debug("what the key does is not told", "error", Redact(err.Error()))
	}
}
