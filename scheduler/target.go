package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
)

// Target is what a pause closes: exactly one of a class, a run and a queue.
type Target struct {
	Class    string        `json:"class,omitempty"`    // all of its calls, by whatever way they come
	Run      string        `json:"run,omitempty"`      // the run's id
	Lane     string        `json:"lane,omitempty"`     // with Priority: one of the lane's queues
	Priority jobs.Priority `json:"priority,omitempty"` //
}

// String is the target as ParseTarget reads it: the class, the run's id, or the
// queue's name.
func (t Target) String() string {
	switch {
	case t.Class != "":
		return t.Class
	case t.Run != "":
		return t.Run
	case t.Lane != "":
		return t.Queue()
	}
	return ""
}

// Queue is asynq's name of the target's queue; "" when it is none.
func (t Target) Queue() string {
	if t.Lane == "" {
		return ""
	}
	return jobs.Queue(t.Priority, t.Lane)
}

// Describe says what kind of thing the target is.
func (t Target) Describe() string {
	switch {
	case t.Class != "":
		return "class " + t.Class
	case t.Run != "":
		return "run " + t.Run
	}
	return "queue " + t.Queue()
}

// ParseTarget finds what a name means: a class of the configuration (so "bulk"
// is the class bulk and nothing else), a queue by asynq's name for it
// (bulk-high.project.model), or a run by its name, its id or the beginning of
// one. A class goes before a run of the same name. The error is a
// *NoTargetError or a *jobs.AmbiguousError.
func (c *Control) ParseTarget(ctx context.Context, name string) (Target, error) {
	if _, ok := c.class(name); ok {
		return Target{Class: name}, nil
	}
	if queue, ok, err := c.queueNamed(ctx, name); err != nil || ok {
		return queue, err
	}
	if name == "" {
		return Target{}, c.noTarget(name)
	}
	run, err := c.Store.Find(ctx, name)
	if errors.Is(err, jobs.ErrNoRun) {
		return Target{}, c.noTarget(name)
	}
	return Target{Run: run.ID}, err
}

// queueNamed looks among the queues of all lanes that have, or had, any.
func (c *Control) queueNamed(ctx context.Context, name string) (Target, bool, error) {
	if !strings.Contains(name, ".") {
		return Target{}, false, nil
	}
	queues, err := c.queues(ctx)
	for _, q := range queues {
		if q.Queue() == name {
			return q, true, nil
		}
	}
	return Target{}, false, err
}

// queues are those of the lanes of our provider project.
func (c *Control) queues(ctx context.Context) ([]Target, error) {
	lanes, err := c.Store.Lanes(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing lanes: %w", err)
	}
	var out []Target
	for _, name := range lanes {
		if lane, err := limiter.ParseLane(name); err != nil || lane.Scope() != c.Scope {
			continue // another project's limiter closes those
		}
		for _, p := range jobs.Priorities {
			out = append(out, Target{Lane: name, Priority: p})
		}
	}
	return out, nil
}

func (c *Control) class(name string) (limiter.Class, bool) {
	for _, k := range c.Classes {
		if k.Name == name {
			return k, true
		}
	}
	return limiter.Class{}, false
}

// check finds a target that does not exist or may not be paused.
func (c *Control) check(ctx context.Context, t Target) error {
	switch {
	case t.Class != "":
		k, ok := c.class(t.Class)
		if !ok {
			return c.noTarget(t.Class)
		}
		if !k.Pausable {
			return &NotPausableError{Class: t.Class}
		}
		return nil
	case t.Run != "":
		_, err := c.Store.Load(ctx, t.Run)
		if errors.Is(err, jobs.ErrNoRun) {
			return c.noTarget(t.Run)
		}
		return err
	}
	_, ok, err := c.queueNamed(ctx, t.String())
	if err == nil && !ok {
		err = c.noTarget(t.String())
	}
	return err
}

func (c *Control) noTarget(name string) error {
	e := &NoTargetError{Target: name}
	for _, k := range c.Classes {
		if k.Pausable {
			e.Classes = append(e.Classes, k.Name)
		}
	}
	return e
}
