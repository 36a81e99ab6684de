package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The settings of a run that may change while it goes on, by the names of their
// flags: those of Steering, and of Spec Halt, Attempts and MaxWait.
const (
	SetWindow      = "window"
	SetZone        = "zone"
	SetDeadline    = "deadline"
	SetOnLate      = "on-late"
	SetMaxCost     = "max-cost"
	SetWeight      = "weight"
	SetRamp        = "ramp"
	SetServiceTier = "service-tier"
	SetHalt        = "halt"
	SetAttempts    = "attempts"
	SetMaxWait     = "max-wait"
	SetKeep        = "keep"
)

// SetBy says where a setting comes from.
type SetBy struct {
	By   string    `json:"by,omitempty"`   // who changed it while the run went on
	Flag bool      `json:"flag,omitempty"` // it was given when the run was enqueued
	At   time.Time `json:"at"`
}

// Steer changes a run's steering while it goes on, and gives the run as it is then.
// change may be called several times; what it refuses is not written.
func (s *Store) Steer(ctx context.Context, run string, change func(*Steering) error) (Run, error) {
	_, now, err := s.Change(ctx, run, SetBy{}, nil, func(spec *Spec) error { return change(&spec.Steer) })
	return now, err
}

// changeTries bounds how often Change begins anew because somebody else changed
// the record between its look and its write.
const changeTries = 20

// Change changes what may change of a run while it goes on, and gives the run as
// it was and as it is then: its Steering, Halt, Attempts and MaxWait; what else
// change alters is not kept. Workers see it at the next row that begins. change
// may be called several times; what it refuses is not written. names are the
// settings that by is noted for.
func (s *Store) Change(ctx context.Context, run string, by SetBy, names []string, change func(*Spec) error) (was, now Run, err error) {
	for range changeTries {
		was, now, written, err := s.change(ctx, run, by, names, change)
		if written || err != nil {
			return was, now, err
		}
	}
	return was, now, fmt.Errorf("run %s: others change it all the time; try again", run)
}

func (s *Store) change(ctx context.Context, run string, by SetBy, names []string, change func(*Spec) error) (was, now Run, written bool, err error) {
	text, err := s.rdb.HGet(ctx, runKey(run), "record").Result()
	if err := orNil(err); err != nil {
		return was, now, false, err
	}
	m, err := s.meta(ctx, run)
	if err != nil {
		return was, now, false, err
	}
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return was, now, false, nil // it was made between the two looks
	}
	if now, err = was.changed(by, names, s.now(), change); err != nil {
		return was, now, false, err
	}
	if err := s.watch(ctx, now); err != nil {
		return was, now, false, err
	}
	record, err := json.Marshal(now)
	if err != nil {
		return was, now, false, err
	}
	args := append([]any{text, record}, now.fields()...)
	out, err := s.call(ctx, steerScript, []string{runKey(run)}, args, 1)
	if err != nil {
		return was, now, false, fmt.Errorf("change: %w", err)
	}
	for _, r := range []*Run{&was, &now} { // what is no part of the record
		r.Rows, r.Dropped, r.Planned = m.Rows, m.Dropped, m.Planned
	}
	return was, now, integer(out[0]) == 1, nil
}

// changed is the run after a change.
func (r Run) changed(by SetBy, names []string, at time.Time, change func(*Spec) error) (Run, error) {
	spec := r.Spec
	if err := change(&spec); err != nil {
		return r, err
	}
	if err := spec.Steer.Check(); err != nil {
		return r, err
	}
	if err := CheckTier(spec.Kind, spec.Steer.ServiceTier); err != nil {
		return r, err
	}
	out := r
	out.Spec.Steer, out.Spec.Halt, out.Spec.Attempts, out.Spec.MaxWait = spec.Steer, spec.Halt, spec.Attempts, spec.MaxWait
	out.Changes++
	by.At = at.UTC()
	out.note(by, names)
	return out, nil
}

// note keeps where settings come from.
func (r *Run) note(by SetBy, names []string) {
	if len(names) == 0 {
		return
	}
	r.Set = maps.Clone(r.Set)
	if r.Set == nil {
		r.Set = map[string]SetBy{}
	}
	for _, name := range names {
		r.Set[name] = by
	}
}

// enqueuedOver is what of a run holds when it is enqueued again: what was set
// while it goes on, until something else is given.
func (r *Run) enqueuedOver(was Run, at time.Time) {
	r.Set, r.Changes = was.Set, was.Changes
	s := &r.Spec
	s.Steer = s.Steer.over(was.Spec.Steer)
	keeps := func(name string) bool {
		return was.Set[name].By != "" && !slices.Contains(s.Given, name)
	}
	if keeps(SetHalt) {
		s.Halt = was.Spec.Halt
	}
	if keeps(SetAttempts) {
		s.Attempts = was.Spec.Attempts
	}
	if keeps(SetMaxWait) {
		s.MaxWait = was.Spec.MaxWait
	}
	r.note(SetBy{Flag: true, At: at}, s.Given)
}

// watch makes the run known as one that somebody looks after, if it is. It is in
// the set before it is to be found so.
func (s *Store) watch(ctx context.Context, r Run) error {
	if !r.Spec.Steer.Watched() {
		return nil
	}
	return s.rdb.SAdd(ctx, keyWatched, r.ID).Err()
}

// Watched gives the ids of the runs whose steering somebody has to look after, in
// order, until Unwatch.
func (s *Store) Watched(ctx context.Context) ([]string, error) {
	ids, err := s.rdb.SMembers(ctx, keyWatched).Result()
	slices.Sort(ids)
	return ids, err
}

// Unwatch forgets a run that nobody has to look after any more: it has ended and
// nothing is left of its steering. A retry, an enqueue and a change bring it back.
func (s *Store) Unwatch(ctx context.Context, run string) error {
	return s.rdb.SRem(ctx, keyWatched, run).Err()
}
