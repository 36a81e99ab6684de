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

// KeyWatcher is told which key is in use, by a short hash, and whether it works.
// *limiter.Redis is one.
type KeyWatcher interface {
	KeyInUse(ctx context.Context, hash string, worked bool) error
}

// keyEvery is how often the key in use is told of: a new key, or one that works
// beside refused ones, is known within so long.
const keyEvery = 10 * time.Second

// keyUse is how this process's key does.
type keyUse struct {
	good  atomic.Bool // it worked since that was told last
	alone atomic.Bool // it is refused while another process's works, and that was told
}

func (k *keyUse) worked() {
	k.good.Store(true)
	k.alone.Store(false)
}

func (k *keyUse) refused() { k.good.Store(false) }

// noter keeps events. *limiter.Redis is one.
type noter interface {
	Note(ctx context.Context, e limiter.Event) error
}

// alertAlone tells once that this process's key is refused while others' work.
func (t *Transport) alertAlone(ctx context.Context, v Verdict) {
	if t.keys.alone.Swap(true) {
		return
	}
	text := fmt.Sprintf("%s: %s; it comes from %s. Keys of other processes work: only this one's rows go back, and others take them. Put a working key there",
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
	good := t.keys.good.Swap(false)
	if err := watcher.KeyInUse(ctx, keyHash(t.cfg.Key()), good); err != nil {
		if good {
			t.keys.worked() // told next time
		}
		t.log.Debug("what the key does is not told", "error", Redact(err.Error()))
	}
}
