package scheduler

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// EventRun is the kind of the events that tell of a run's life.
const EventRun = "run"

// What happens to runs, and hooks may be called on.
const (
	RunStarted  = "started"  // its first row was called for
	RunFinished = "finished" // no row is open any more
	RunHalted   = "halted"   // its brake has stopped it
	RunCapped   = "capped"   // its own money is spent
	RunLate     = "late"     // it will not make, or has not made, its deadline
	RunMissed   = "missed"   // a periodic run that should have begun did not
	RunUpgraded = "upgraded" // more is done for it: a larger part, or a dearer service tier
)

// RunEvents are all kinds, in the order of a run's life.
var RunEvents = []string{RunStarted, RunFinished, RunHalted, RunCapped, RunLate, RunMissed, RunUpgraded}

// What hooks may be called on beside the events of runs.
const (
	HookAlert     = "alert"     // something that somebody should look at
	HookRecovered = "recovered" // it is over
)

// HookEvents are all that hooks may be called on.
var HookEvents = append(slices.Clone(RunEvents), HookAlert, HookRecovered)

// ofRun says that an event is one of a run, and no alert.
func (e RunEvent) ofRun() bool { return e.Kind != HookAlert && e.Kind != HookRecovered }

// RunEvent is something that happened to a run, which a person who is away wants
// to hear of.
type RunEvent struct {
	Run  string    `json:"run"`  // its id; of a missed period the schedule's name
	Kind string    `json:"kind"` // of RunEvents
	At   time.Time `json:"at"`   // when it happened, which may be before anybody saw it; zero: now, by Redis's clock
	Text string    `json:"text"` // one line for people, without the run's name at its beginning: "90 % of its $5.00 are spent"
	// Occasion tells apart what can happen to a run several times: of the same run,
	// kind and occasion the second telling is nothing. "" is for what happens once.
	Occasion string `json:"occasion,omitempty"`
	// Alerts are what an alert is of: it has no run, and a text of its own, of several
	// lines where it is of several.
	Alerts []Alert `json:"alerts,omitempty"`
}

// ID is the same for every telling of the same event.
func (e RunEvent) ID() string { return e.Run + "-" + shortDigest(e.Run, e.Kind, e.Occasion) }

const (
	// toldKept is how long an event is known to have been told: longer than any run
	// goes on.
	toldKept = 60 * 24 * time.Hour
	// mostUntaken bounds what waits while no scheduler is there to call hooks.
	mostUntaken = 10_000
)

//go:embed lua/tellrun.lua
var tellRunLua string

var tellRunScript = redis.NewScript(tellRunLua)

// TellRun keeps an event of a run, once for each run, kind and occasion, however
// many processes see it: `events --kind run` shows it, and the hooks for it are
// called by whoever runs Hooks, now or when one is there again. It may be called again
// and again; an error says that it must be.
func (c *Control) TellRun(ctx context.Context, e RunEvent) error {
	if e.Run == "" || !slices.Contains(RunEvents, e.Kind) {
		return &ConfigError{"event", fmt.Sprintf("%q of run %q: want a run, and one of %s", e.Kind, e.Run, strings.Join(RunEvents, ", "))}
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	if e.At.IsZero() || e.At.After(now) {
		e.At = now
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	keys := []string{scopeKey(c.Scope, "told:"+e.ID()), scopeKey(c.Scope, "runevents")}
	first, err := tellRunScript.Run(ctx, c.Redis, keys, text, toldKept.Milliseconds(), mostUntaken).Int64()
	if err != nil {
		return fmt.Errorf("telling that run %s is %s: %w", e.Run, e.Kind, err)
	}
	if first == 1 {
		c.noteRun(ctx, e, now)
	}
	return nil
}

// seenLate is from how much later on something counts as noticed after it happened.
const seenLate = time.Minute

// noteRun puts it among the events of everybody, with when it happened.
func (c *Control) noteRun(ctx context.Context, e RunEvent, now time.Time) {
	text := c.Describe(ctx, Target{Run: e.Run}) + " " + runEventWords[e.Kind]
	if e.Text != "" {
		text += ": " + e.Text
	}
	c.log().Info(text, "event", EventRun, "run", e.Run, "kind", e.Kind)
	data := map[string]string{"run_event": e.Kind}
	if now.Sub(e.At) >= seenLate {
		data[limiter.DataHappened] = e.At.UTC().Format(time.RFC3339Nano)
	}
	err := c.Limiter.Note(context.WithoutCancel(ctx), limiter.Event{Kind: EventRun, Subject: e.Run, Text: text, Data: data})
	if err != nil {
		c.log().Warn("an event was not kept", "event", EventRun, "err", err)
	}
}

var runEventWords = map[string]string{
	RunStarted: "has begun", RunFinished: "has ended", RunHalted: "is stopped by its brake", RunCapped: "is stopped by its cap",
	RunLate: "is late", RunMissed: "was missed", RunUpgraded: "is upgraded",
}

// shortDigest is a short name for words that are told apart.
func shortDigest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}
