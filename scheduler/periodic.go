package scheduler

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/limiter"
)

//go:embed lua/periodic.lua
var periodicLua string

var periodicScript = redis.NewScript(periodicLua)

// Schedule is a run that comes again.
type Schedule struct {
	Name  string
	Cron  Cron
	Input string // for people
	Skip  bool   // a period that was missed is skipped; else it is made up for, once
	// Start enqueues the period's run under a name. Called again with the same name it
	// adds only what is missing. A *StartError says that the input is at fault.
	Start func(ctx context.Context, run string) (jobs.EnqueueReport, error)
}

// StartError says why a period's run cannot be made before somebody mends its input.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// How a schedule's last period went.
const (
	PeriodStarting = "starting" // its run is being enqueued
	PeriodStarted  = "started"
	PeriodSkipped  = "skipped"
	PeriodFailed   = "failed"
)

// ScheduleState is what is kept of a schedule.
type ScheduleState struct {
	Looked  time.Time `json:"looked"`             // all periods up to here are decided
	Period  time.Time `json:"period,omitzero"`    // the last one that was decided
	Run     string    `json:"run,omitempty"`      // its run's name
	Outcome string    `json:"outcome,omitempty"`  // how it went
	Text    string    `json:"text,omitempty"`     // why, or what was enqueued
	Held    string    `json:"held,omitempty"`     // who holds the schedule; "": nobody
	HeldOut int       `json:"held_out,omitempty"` // periods that began while it was held, and of which nobody was told yet
	SkipOne bool      `json:"skip_one,omitempty"`
	SkipBy  string    `json:"skip_by,omitempty"` // who left the next period out
	Now     string    `json:"now,omitempty"`     // who wants a run now
}

// lateAfter is from when a period counts as missed: some scheduler leads within seconds.
const lateAfter = 5 * time.Minute

// Periodic starts the runs of schedules.
type Periodic struct {
	Control *Control
	Of      []Schedule
	Owner   string
}

func schedulesKey(s limiter.Scope) string { return scopeKey(s, "schedules") }

// Schedules reads the state of all schedules.
func (c *Control) Schedules(ctx context.Context) (map[string]ScheduleState, error) {
	all, err := c.Redis.HGetAll(ctx, schedulesKey(c.Scope)).Result()
	if err != nil {
		return nil, fmt.Errorf("schedules: %w", err)
	}
	out := map[string]ScheduleState{}
	for name, text := range all {
		var s ScheduleState
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return nil, fmt.Errorf("schedule %s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
}

// ChangeSchedule changes what is kept of a schedule, by compare-and-set. written is
// false when somebody else was quicker.
func (c *Control) ChangeSchedule(ctx context.Context, name string, change func(*ScheduleState)) (s ScheduleState, written bool, err error) {
	was, err := c.Redis.HGet(ctx, schedulesKey(c.Scope), name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return s, false, err
	}
	if was != "" {
		if err := json.Unmarshal([]byte(was), &s); err != nil {
			return s, false, err
		}
	}
	change(&s)
	now, err := json.Marshal(s)
	if err != nil {
		return s, false, err
	}
	n, err := periodicScript.Run(ctx, c.Redis, []string{schedulesKey(c.Scope)}, name, was, now).Int64()
	return s, n == 1, err
}

// Look decides about the periods that began since the last look.
func (p *Periodic) Look(ctx context.Context) error {
	now, err := p.Control.now(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range p.Of {
		if err := p.look(ctx, s, now); err != nil {
			errs = append(errs, fmt.Errorf("schedule %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Periodic) look(ctx context.Context, s Schedule, now time.Time) error {
	var told []string
	var missed int
	former, err := p.formerOpen(ctx, s)
	if err != nil {
		return err
	}
	state, won, err := p.Control.ChangeSchedule(ctx, s.Name, func(st *ScheduleState) {
		told, missed = st.decide(s, now, former)
	})
	if err != nil || !won {
		return err
	}
	if missed > 0 {
		event := RunEvent{Run: s.Name, Kind: RunMissed, At: state.Period, Occasion: now.UTC().Format(time.RFC3339),
			Text: fmt.Sprintf("%d of its periods began while no scheduler was there", missed)}
		if err := p.Control.TellRun(ctx, event); err != nil {
			p.Control.log().Warn("a missed period was not told", "schedule", s.Name, "err", err)
		}
	}
	for _, text := range told {
		p.Control.noteSubject(ctx, limiter.EventAlert, s.Name, p.Owner, text)
	}
	if state.Outcome != PeriodStarting {
		return nil
	}
	return p.start(ctx, s, state)
}

// decide moves the state to now, and says what people should know, and how many
// periods were missed.
func (st *ScheduleState) decide(s Schedule, now time.Time, former string) (told []string, missed int) {
	if st.Outcome == PeriodStarting {
		return nil, 0 // it is finished first
	}
	if st.Looked.IsZero() {
		st.Looked = now // what was before the schedule is not missed
	}
	due, n := time.Time{}, 0
	for at := s.Cron.Next(st.Looked); !at.IsZero() && !at.After(now) && n < 10_000; at = s.Cron.Next(at) {
		due, n = at, n+1
	}
	st.Looked = limiter.Later(st.Looked, now)
	late := n > 0 && now.Sub(due) > lateAfter
	if missed = n - 1 + boolInt(late); n == 0 || st.Held != "" {
		missed = 0 // what is held would not have started
	}
	if st.Held != "" {
		st.HeldOut += n
	} else if st.HeldOut > 0 {
		told = append(told, fmt.Sprintf("schedule %s: %s began while it was held; nothing is made up for", s.Name, PeriodsWords(st.HeldOut)))
		st.HeldOut = 0
	}
	byHand := st.Now
	st.Now = ""
	if byHand != "" {
		st.Period, st.Run, st.Outcome, st.Text = now, s.Name+"@"+now.In(s.Cron.zone).Format("2006-01-02T15:04:05"), PeriodStarting, "started by "+byHand
		return told, missed
	}
	if n == 0 {
		return told, 0
	}
	st.Period, st.Run = due, s.Name+"@"+s.Cron.Period(due)
	skip := func(why string) {
		st.Outcome, st.Text = PeriodSkipped, why
		told = append(told, fmt.Sprintf("schedule %s: %s is skipped: %s", s.Name, s.Cron.Period(due), why))
	}
	switch {
	case st.Held != "":
		st.Outcome, st.Text = PeriodSkipped, "held by "+st.Held
	case st.SkipOne:
		skip("left out by " + cmp.Or(st.SkipBy, "somebody"))
		st.SkipOne, st.SkipBy = false, ""
	case late && s.Skip:
		skip("it was missed")
	case former != "":
		skip("run " + former + " still goes on")
	default:
		st.Outcome, st.Text = PeriodStarting, ""
	}
	return told, missed
}

// PeriodsWords is "1 period", "2 periods".
func PeriodsWords(n int) string {
	if n == 1 {
		return "1 period"
	}
	return fmt.Sprintf("%d periods", n)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// formerOpen names the last period's run while it goes on.
func (p *Periodic) formerOpen(ctx context.Context, s Schedule) (string, error) {
	all, err := p.Control.Schedules(ctx)
	if err != nil || all[s.Name].Run == "" || all[s.Name].Outcome == PeriodStarting {
		return "", err
	}
	run, err := p.Control.Store.Find(ctx, all[s.Name].Run)
	if errors.Is(err, jobs.ErrNoRun) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	counts, err := p.Control.Store.Counts(ctx, run.ID)
	if err != nil || counts.Open() == 0 {
		return "", err
	}
	return run.Title(), nil
}

// start enqueues the period's run and writes down how that went. What is not the
// input's fault is tried again with the next look.
func (p *Periodic) start(ctx context.Context, s Schedule, st ScheduleState) error {
	rep, err := s.Start(ctx, st.Run)
	var broken *StartError
	outcome, text := PeriodStarted, fmt.Sprintf("%d rows new, %d known", rep.New, rep.Known)
	if rep.Reused > 0 {
		text += fmt.Sprintf(", %d of them answered already", rep.Reused)
	}
	switch {
	case errors.As(err, &broken):
		outcome, text = PeriodFailed, err.Error()
		p.Control.noteSubject(ctx, limiter.EventAlert, s.Name, p.Owner, fmt.Sprintf("schedule %s: no run %s: %s", s.Name, st.Run, err))
	case err != nil:
		return err
	}
	_, _, err = p.Control.ChangeSchedule(ctx, s.Name, func(now *ScheduleState) {
		if now.Run == st.Run && now.Outcome == PeriodStarting {
			now.Outcome, now.Text = outcome, text
		}
	})
	return err
}
