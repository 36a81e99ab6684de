package limiter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Note keeps an event, at Redis's time. About 20,000 are kept.
func (r *Redis) Note(ctx context.Context, e Event) error {
	return r.noteIn(ctx, r.keys.events, keptEvents, e)
}

func (r *Redis) noteIn(ctx context.Context, key []string, kept int, e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	ctx, cancel := r.timed(ctx)
	defer cancel()
	args := []any{r.clockArg(), kept, "kind", e.Kind, "subject", e.Subject, "text", oneLine(e.Text), "by", e.By}
	if len(e.Data) > 0 {
		args = append(args, "data", jsonOf(e.Data))
	}
	if err := noteScript().Run(ctx, r.rdb, key, args...).Err(); err != nil {
		return fmt.Errorf("limiter: event: %w", err)
	}
	return nil
}

// Events gives the last n events (0: all that are kept) from since on, the oldest
// of them first.
func (r *Redis) Events(ctx context.Context, since time.Time, n int) ([]Event, error) {
	if n <= 0 {
		n = 2 * keptEvents // a stream is cut by whole nodes, so it may hold a few more
	}
	return r.eventsIn(ctx, r.keys.events, "+", strconv.FormatInt(max(0, since.UnixMilli()), 10), n)
}

// eventsIn reads a stream backwards from its end on.
func (r *Redis) eventsIn(ctx context.Context, key []string, end, from string, n int) ([]Event, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	got, err := r.rdb.XRevRangeN(ctx, key[0], end, from, int64(n)).Result()
	if err != nil {
		return nil, fmt.Errorf("limiter: events: %w", err)
	}
	out := make([]Event, 0, len(got))
	for _, m := range slices.Backward(got) {
		e, err := readEvent(m)
		if err != nil {
			return nil, fmt.Errorf("limiter: event %s: %w", m.ID, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func readEvent(m redis.XMessage) (Event, error) {
	ms, _, _ := strings.Cut(m.ID, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return Event{}, err
	}
	e := Event{At: time.UnixMilli(at), Kind: text(m.Values["kind"]), Subject: text(m.Values["subject"]),
		Text: text(m.Values["text"]), By: text(m.Values["by"])}
	if s := text(m.Values["data"]); s != "" {
		err = json.Unmarshal([]byte(s), &e.Data)
	}
	return e, err
}

// NoteAudit keeps what somebody did, or was refused, in a log of its own that other
// events do not push out: Kind is the action, Subject what it was done to, By who,
// Text what came of it, Data the rest. About 100,000 entries are kept.
func (r *Redis) NoteAudit(ctx context.Context, e Event) error {
	return r.noteIn(ctx, r.keys.audit, keptAudit, e)
}

// AuditLog gives the last n entries (0: all that are kept) of those before a moment
// (zero: now), the oldest of them first.
func (r *Redis) AuditLog(ctx context.Context, before time.Time, n int) ([]Event, error) {
	end := "+"
	if !before.IsZero() {
		end = strconv.FormatInt(before.UnixMilli()-1, 10)
	}
	return r.eventsIn(ctx, r.keys.audit, end, "-", cmp.Or(n, 2*keptAudit))
}
