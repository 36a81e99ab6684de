package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// SpendWatch tells once in each day or month, and for each level, how far a cap in
// money is spent. Only the leader looks, so that a fleet tells once.
type SpendWatch struct {
	Control *Control
	Owner   string

	stopped map[string][]string // classes by cap, at the last look; only Look's
}

// spendEvery bounds how late a level is told of.
const spendEvery = 15 * time.Second

// full is the part of a cap, in percent, from which it counts as spent: the last
// call that would fit exactly never comes.
const full = 99

// Look tells of the levels that were reached since the last look.
func (w *SpendWatch) Look(ctx context.Context) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	states, err := w.Control.Limiter.Caps(ctx)
	if err != nil {
		return err
	}
	marks, err := w.Control.spendMarks(ctx)
	if err != nil {
		return err
	}
	own, err := w.ownCaps(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range states {
		errs = append(errs, w.stops(ctx, s))
		if s.IsCap() {
			errs = append(errs, w.look(ctx, s, marks[spendField(s)], own[spendField(s)], now))
		}
		delete(marks, spendField(s))
	}
	return errors.Join(append(errs, w.forget(ctx, marks))...)
}

// stops remembers from when to when money stops classes, for what their rows waited.
// It holds until the next look and a little longer; at that it is said again.
func (w *SpendWatch) stops(ctx context.Context, s limiter.CapState) (err error) {
	was := w.stopped[spendField(s)]
	if w.stopped == nil {
		w.stopped = map[string][]string{}
	}
	w.stopped[spendField(s)] = s.Stopped
	for _, class := range s.Stopped {
		err = errors.Join(err, w.Control.Limiter.MoneyShort(ctx, s.Node, class, spendEvery+spendEvery/3))
	}
	for _, class := range was {
		if !slices.Contains(s.Stopped, class) {
			err = errors.Join(err, w.Control.Limiter.MoneyShort(ctx, s.Node, class, 0))
		}
	}
	return err
}

// ownCaps are the caps that runs were given as --max-cost, by their fields.
func (w *SpendWatch) ownCaps(ctx context.Context) (map[string]bool, error) {
	all, err := w.Control.Limiter.Overrides(ctx)
	out := map[string]bool{}
	for _, o := range all {
		if o.Reason == forCap {
			out[spendField(limiter.CapState{Node: o.Node, Name: o.Name})] = true
		}
	}
	return out, err
}

// look tells of a level. That a run is stopped by a cap of its own RunWatch tells, and
// nobody else has to wait for that.
func (w *SpendWatch) look(ctx context.Context, s limiter.CapState, kept spendMark, own bool, now time.Time) error {
	m := kept.of(s).seen(s.Used, now)
	level := levelOf(s)
	if own {
		level = ownLevel(s)
	}
	if level > m.Level {
		m.Level = level
		text := levelText(outlook(s, m, now), now)
		if own {
			text = w.ownText(ctx, s)
		}
		if !own || w.ownOpen(ctx, s) {
			w.Control.noteEvent(ctx, limiter.Event{Kind: limiter.EventAlert, Subject: s.Node, By: w.Owner, Text: text, Data: map[string]string{DataCommand: "nightshift spend show"}})
		}
	}
	if m.Level == kept.Level && m.Cap == kept.Cap && m.Start == kept.Start && len(m.Seen) == len(kept.Seen) &&
		(len(m.Seen) == 0 || m.Seen[len(m.Seen)-1] == kept.Seen[len(kept.Seen)-1]) {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := w.Control.Redis.HSet(ctx, scopeKey(w.Control.Scope, "spend"), spendField(s), text).Err(); err != nil {
		return fmt.Errorf("what %s stands at: %w", s, err)
	}
	return nil
}

// forget drops what is kept of caps that are no more.
func (w *SpendWatch) forget(ctx context.Context, gone map[string]spendMark) error {
	for field := range gone {
		if err := w.Control.Redis.HDel(ctx, scopeKey(w.Control.Scope, "spend"), field).Err(); err != nil {
			return fmt.Errorf("what caps stood at: %w", err)
		}
	}
	return nil
}

// softLevel is the level at which pausable classes stop, in percent; 92 where the
// cap has no soft part.
func softLevel(s limiter.CapState) int64 {
	if s.Soft > 0 && s.Soft < s.Amount {
		return (s.Soft*100 + s.Amount/2) / s.Amount
	}
	return 92
}

// levelOf is the highest level that a cap has reached; 0 for none. What waits and
// does not fit has reached its class's end, however little is missing.
func levelOf(s limiter.CapState) int64 {
	soft, at := softLevel(s), s.Used*100/s.Amount
	if at >= full {
		return 100
	}
	if len(s.Stopped) > 0 {
		at = max(at, soft)
	}
	reached := int64(0)
	for _, level := range []int64{50, 80, soft} {
		if at >= level {
			reached = max(reached, level)
		}
	}
	return reached
}

// ownLevel is the level that a run's own cap has reached, short of its end.
func ownLevel(s limiter.CapState) (reached int64) {
	for _, level := range []int64{50, 80} {
		if s.Used*100/s.Amount >= level {
			reached = level
		}
	}
	return reached
}

// ownOpen tells whether the run of an own cap goes on: of one that has ended nobody needs
// to hear.
func (w *SpendWatch) ownOpen(ctx context.Context, s limiter.CapState) bool {
	if w.Control.Store == nil {
		return true
	}
	counts, err := w.Control.Store.Counts(ctx, strings.TrimPrefix(s.Node, "run/"))
	return err != nil || counts.Open() > 0 || counts.Total() == 0
}

// ownText says how far a run's own cap is spent.
func (w *SpendWatch) ownText(ctx context.Context, s limiter.CapState) string {
	id := strings.TrimPrefix(s.Node, "run/")
	text := fmt.Sprintf("%s: %d %% of its --max-cost %s is spent", w.Control.Describe(ctx, Target{Run: id}), s.Used*100/s.Amount, limiter.Dollars(s.Amount))
	if s.Held > 0 {
		text += fmt.Sprintf(" or held: %s spent, %s held by calls under way", limiter.Dollars(s.Used-s.Held), limiter.Dollars(s.Held))
	}
	return text
}

// levelText says what is spent, what follows, and how it will go on.
func levelText(o CapOutlook, now time.Time) string {
	return levelWords(o, now, " ("+setCommand(o)+")")
}

// levelWords is levelText with the command that raises the cap as help has it.
func levelWords(o CapOutlook, now time.Time, help string) string {
	at := o.Used * 100 / o.Amount
	s := fmt.Sprintf("%s: %d %% of the cap is spent, %s of %s", o.CapState, at, limiter.Dollars(o.Used), limiter.Dollars(o.Amount))
	if o.Held > 0 {
		s = fmt.Sprintf("%s: %d %% of the cap is spent or held, of %s: %s spent, %s held by calls under way", o.CapState, at, limiter.Dollars(o.Amount), limiter.Dollars(o.Used-o.Held), limiter.Dollars(o.Held))
	}
	if o.Next > 0 && at < softLevel(o.CapState) {
		s += fmt.Sprintf(", and what waits may cost %s a call", limiter.Dollars(o.Next))
	}
	until := "until " + limiter.Instant(o.End) + ", or until the cap is raised"
	if o.End.IsZero() {
		until = "until the cap is raised"
	}
	switch {
	case at >= full:
		return s + fmt.Sprintf(": all calls that cost money are refused %s%s", until, help)
	case len(o.Stopped) > 0 || o.Soft > 0 && at >= softLevel(o.CapState):
		s += fmt.Sprintf(": %s %s%s", stopWords(o), until, help)
	}
	switch {
	case !o.Reached.IsZero():
		s += fmt.Sprintf("; at the mean pace since %s the cap is reached %s", limiter.Instant(o.Since), limiter.Instant(o.Reached))
	case o.PerHour > 0 && !o.End.IsZero():
		s += fmt.Sprintf("; at the mean pace since %s %s are spent at its end", limiter.Instant(o.Since), limiter.Dollars(o.AtEnd))
	}
	return s
}

func stopWords(o CapOutlook) string {
	who := "pausable classes"
	if len(o.Stopped) > 0 {
		who = strings.Join(slices.Clone(o.Stopped), ", ")
	}
	if o.Soft == 0 {
		return who + " wait"
	}
	return who + " wait and the others take the cheaper way where there is one"
}

// setCommand is what raises the cap.
func setCommand(o CapOutlook) string {
	if run, is := strings.CutPrefix(o.Node, "run/"); is && o.Name == "usd_total" {
		return "nightshift set " + run + " --max-cost DOLLARS"
	}
	return fmt.Sprintf("nightshift spend set %s %s AMOUNT", shownNode(o.Node), o.Name)
}

// shownNode is a node as commands take it: of a lane its model.
func shownNode(node string) string {
	if l, err := limiter.ParseLane(node); err == nil {
		return l.Model
	}
	return node
}
