package scheduler

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/alerts.lua
var alertsLua string

var alertsScript = redis.NewScript(alertsLua)

// AlertSource reads what alerts are judged by.
type AlertSource interface {
	Facts(ctx context.Context, now time.Time) (AlertFacts, error)
}

// AlertWatch tells hooks and the events once of what somebody should look at, and once
// when it is over. Only the leader looks; what it knows is in Redis for the next one.
type AlertWatch struct {
	Control *Control
	Source  AlertSource
	Rules   AlertRules
	Owner   string
}

// alertsEvery bounds how late something is seen.
const alertsEvery = 10 * time.Second

// Look judges what is, and keeps and tells what is new of it. fence is the leader's.
func (w *AlertWatch) Look(ctx context.Context, fence int64) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	facts, err := w.Source.Facts(ctx, now)
	if err != nil {
		return fmt.Errorf("what alerts go by: %w", err)
	}
	book, _, err := w.Control.alertBook(ctx)
	if err != nil {
		return err
	}
	rules := w.Rules.orDefault()
	book.remember(facts.Queues, rules.QueueOver, now)
	facts.At, facts.Past = now, book.Past
	book, news := book.step(rules.findings(facts), rules, now)
	if err := w.Control.writeAlerts(ctx, fence, book, news.events(w.Control.Scope.Project, now)); err != nil {
		return err
	}
	w.note(ctx, news)
	return nil
}

// note puts the news among the events of everybody, but for what is there already.
func (w *AlertWatch) note(ctx context.Context, news alertNews) {
	for _, rec := range news.Begun {
		if !rec.Event {
			w.noteOne(ctx, limiter.EventAlert, rec, rec.Line())
		}
	}
	for _, rec := range news.Over {
		w.noteOne(ctx, EventRecovered, rec, "over: "+rec.line(HookRecovered))
	}
}

func (w *AlertWatch) noteOne(ctx context.Context, kind string, rec alertRecord, text string) {
	c := w.Control
	c.log().Info(text, "event", kind, "alert", rec.Kind, "subject", rec.Subject)
	e := limiter.Event{Kind: kind, Subject: rec.Subject, Text: text, By: w.Owner, Data: map[string]string{"alert": rec.Kind}}
	if err := c.Limiter.Note(context.WithoutCancel(ctx), e); err != nil {
		c.log().Warn("an event was not kept", "event", kind, "err", err)
	}
}

// EventRecovered is the kind of the events that tell that an alert is over.
const EventRecovered = "recovered"

// Firing are the alerts that hold, the oldest first, as the leader saw them at a moment:
// zero where none ever looked.
func (c *Control) Firing(ctx context.Context) (list []Alert, seen time.Time, err error) {
	book, seen, err := c.alertBook(ctx)
	return book.firing(), seen, err
}

func (c *Control) alertBook(ctx context.Context) (book alertBook, seen time.Time, err error) {
	h, err := c.Redis.HMGet(ctx, scopeKey(c.Scope, "alerts"), "book", "at").Result()
	if err != nil {
		return book, seen, fmt.Errorf("what is known of alerts: %w", err)
	}
	if text, ok := h[0].(string); ok {
		if err := json.Unmarshal([]byte(text), &book); err != nil {
			return book, seen, fmt.Errorf("what is known of alerts: %w", err)
		}
	}
	if at, ok := h[1].(string); ok {
		var ms int64
		if err := json.Unmarshal([]byte(at), &ms); err == nil {
			seen = time.UnixMilli(ms)
		}
	}
	return book, seen, nil
}

func (c *Control) writeAlerts(ctx context.Context, fence int64, book alertBook, events []RunEvent) error {
	text, err := json.Marshal(book)
	if err != nil {
		return err
	}
	args := []any{fence, fencedFor.Milliseconds(), mostUntaken, text}
	for _, e := range events {
		event, err := json.Marshal(e)
		if err != nil {
			return err
		}
		args = append(args, event)
	}
	keys := []string{scopeKey(c.Scope, "alerts"), scopeKey(c.Scope, "runevents")}
	n, err := alertsScript.Run(ctx, c.Redis, keys, args...).Int()
	if err != nil {
		return fmt.Errorf("what is known of alerts: %w", err)
	}
	if n == 0 {
		return errFenced
	}
	return nil
}

// TestAlert is an alert that never was, for those who try whether they are told.
func (h *Hooks) TestAlert(ctx context.Context, hook Hook, now time.Time) error {
	if !hook.wants(HookAlert) {
		return errors.New("it is not told of alerts (on)")
	}
	rec := alertRecord{Alert: Alert{Kind: AlertWorkers, Subject: "trial", Text: "this is a trial by `nightshift alerts test`, nothing is wrong", Since: now}}
	e := alertNews{Begun: []alertRecord{rec}}.events(h.Control.Scope.Project, now)[0]
	return h.Test(ctx, hook, e)
}
