package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// RejectionSource gives what the provider refused although the gate had admitted
// it, oldest first.
type RejectionSource interface {
	Rejections(ctx context.Context, since time.Time) ([]gemini.Rejection, error)
}

// Rejections implements RejectionSource.
func (m MeterSource) Rejections(ctx context.Context, since time.Time) ([]gemini.Rejection, error) {
	return gemini.ReadRejections(ctx, m.Redis, m.Scope, since)
}

// BypassEstimate says how many requests a minute seem to reach a lane without
// the gate: what the provider says its limit is, less what we had admitted when
// it refused.
type BypassEstimate struct {
	Lane       string    `json:"lane"`
	RPM        int64     `json:"rpm"`        // 0: the provider's limit is lower than what is configured
	Quota      int64     `json:"quota"`      // the provider's limit, in requests a minute
	Used       int64     `json:"used"`       // by us, in that minute
	Configured int64     `json:"configured"` // the limit that we keep to
	At         time.Time `json:"at"`         // of the refusal
	Noted      time.Time `json:"noted"`      // when an event last told of it
}

// String is one line for people.
func (b BypassEstimate) String() string {
	if b.RPM <= 0 {
		return fmt.Sprintf("%s: the provider refuses at %d rpm while %d are configured: set the lower limit", b.Lane, b.Quota, b.Configured)
	}
	return fmt.Sprintf("%s: about %d rpm seem to bypass the gate: the provider refused at %d rpm while we had used %d", b.Lane, b.RPM, b.Quota, b.Used)
}

const (
	bypassKept  = time.Hour        // an estimate says nothing of later
	bypassTells = 10 * time.Minute // at most one event for a lane in so long
	bypassOver  = 5 * time.Minute  // refusals in so long belong together
	bypassLeast = 3                // of them: fewer may be a hiccup of the provider's count
)

// BypassWatch estimates what bypasses the gate from the provider's refusals.
type BypassWatch struct {
	Control *Control
	Source  RejectionSource
	Owner   string

	seen time.Time // of the last refusal; only Look's
}

// Look takes up the refusals since the last look.
func (w *BypassWatch) Look(ctx context.Context) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	refused, err := w.Source.Rejections(ctx, now.Add(-bypassOver))
	if err != nil {
		return err
	}
	last, many := map[string]gemini.Rejection{}, map[string]int{}
	for _, r := range refused {
		if r.Limit != "rpm" {
			continue
		}
		many[r.Lane]++
		if r.At.After(w.seen) && !r.At.Before(now.Add(-time.Minute)) { // what was used at an older one is not known any more
			last[r.Lane] = r
		}
	}
	var errs []error
	for _, r := range last {
		errs = append(errs, w.estimate(ctx, r, many[r.Lane], now))
		w.seen = limiter.Later(w.seen, r.At) // one that cannot be judged now never can
	}
	return errors.Join(errs...)
}

func (w *BypassWatch) estimate(ctx context.Context, r gemini.Rejection, many int, now time.Time) error {
	lane, err := limiter.ParseLane(r.Lane)
	if err != nil {
		return err
	}
	state, err := w.Control.Limiter.State(ctx, lane)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(state.Limits, func(l limiter.LimitState) bool { return l.Name == "rpm" })
	if at < 0 {
		return nil // without a limit of our own we count nothing to compare with
	}
	l := state.Limits[at]
	b := BypassEstimate{Lane: r.Lane, Quota: cmp.Or(r.QuotaValue, l.Amount), Used: l.Used, Configured: l.Amount, At: r.At}
	if many < bypassLeast && b.Quota >= b.Configured {
		return nil // a single one proves nothing; a limit that it states does
	}
	b.RPM = max(b.Quota-b.Used, 0)
	if many < bypassLeast {
		b.RPM = 0
	}
	return w.keep(ctx, b, now)
}

// keep stores the estimate, and tells of it unless that was done lately.
func (w *BypassWatch) keep(ctx context.Context, b BypassEstimate, now time.Time) error {
	all, err := w.Control.Bypass(ctx)
	if err != nil {
		return err
	}
	tell := b.RPM > 0 || b.Quota < b.Configured
	for _, old := range all {
		if old.Lane == b.Lane {
			b.Noted = old.Noted
			tell = tell && now.Sub(old.Noted) > bypassTells
		}
	}
	if tell {
		b.Noted = now
		w.Control.noteSubject(ctx, limiter.EventAlert, b.Lane, w.Owner, b.String())
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := w.Control.Redis.HSet(ctx, scopeKey(w.Control.Scope, "bypass"), b.Lane, text).Err(); err != nil {
		return fmt.Errorf("what bypasses the gate: %w", err)
	}
	return nil
}

// Bypass gives what seems to bypass the gate, by lane, as far as the provider
// refused something within the last hour.
func (c *Control) Bypass(ctx context.Context) ([]BypassEstimate, error) {
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.Redis.HGetAll(ctx, scopeKey(c.Scope, "bypass")).Result()
	if err != nil {
		return nil, fmt.Errorf("what bypasses the gate: %w", err)
	}
	var out []BypassEstimate
	for _, text := range all {
		var b BypassEstimate
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			return nil, fmt.Errorf("what bypasses the gate: %w", err)
		}
		if now.Sub(b.At) < bypassKept {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b BypassEstimate) int { return cmp.Compare(a.Lane, b.Lane) })
	return out, nil
}
