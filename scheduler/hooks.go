package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"nightshift/limiter"
)

// Hooks tells whoever wants to know what happens to runs, at least once each, over
// restarts, for up to a day. Of all processes one at a time runs it: the leader, or the
// `run` that has its Redis for itself.
type Hooks struct {
	Control *Control
	Hooks   []Hook // of the configuration; those of runs come from Notify
	Report  func(ctx context.Context, run string) (RunReport, error)
	Command HookCommand
	Base    http.RoundTripper // nil is http.DefaultTransport
}

// hooksEvery bounds how late an event is told.
const hooksEvery = 2 * time.Second

// Run tells until the context ends.
func (h *Hooks) Run(ctx context.Context) {
	repeat(ctx, hooksEvery, h.Control.log(), "calling hooks", h.Look)
}

// Look tells what is due, one after the other.
func (h *Hooks) Look(ctx context.Context) error {
	now, err := h.Control.now(ctx)
	if err != nil {
		return err
	}
	if err := h.Control.fanOut(ctx, h.Hooks, now); err != nil {
		return err
	}
	due, err := h.Control.deliveries(ctx, strconv.FormatInt(now.UnixMilli(), 10), 16)
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	var errs []error
	for _, d := range due {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, h.deliver(ctx, d))
	}
	return errors.Join(errs...)
}

// deliver makes one attempt. Before it, the delivery is put off by longer than the
// attempt can take: a process that dies on the way leaves it to be made again.
func (h *Hooks) deliver(ctx context.Context, d Delivery) error {
	hook, found, err := h.Control.hookNamed(ctx, h.Hooks, d.Hook)
	if err != nil {
		return err
	}
	now, err := h.Control.now(ctx)
	if err != nil {
		return err
	}
	if !found {
		h.Control.log().Warn("a hook is not configured any more; what it should be told is dropped", "hook", d.Hook, "run", d.Event.Run, "event", d.Event.Kind)
		return h.Control.drop(ctx, d)
	}
	claim := d
	claim.Next = now.Add(hook.timeout() + 30*time.Second)
	if err := h.Control.put(ctx, claim); err != nil {
		return err
	}
	failed := h.attempt(ctx, hook, d, now)
	if ctx.Err() != nil {
		return ctx.Err() // we end: it was not the receiver's fault
	}
	ctx = context.WithoutCancel(ctx)
	if failed == nil {
		return h.Control.drop(ctx, d)
	}
	return h.failed(ctx, hook, d, failed)
}

// attempt tells one hook of one event, now.
func (h *Hooks) attempt(ctx context.Context, hook Hook, d Delivery, now time.Time) error {
	var report RunReport
	if h.Report != nil {
		var err error
		if report, err = h.Report(ctx, d.Event.Run); err != nil {
			h.Control.log().Warn("a hook is called without a report", "hook", hook.Name, "run", d.Event.Run, "err", err)
		}
	}
	log := h.Control.log().With("hook", hook.Name, "to", hook.Target(), "run", d.Event.Run, "event", d.Event.Kind, "attempt", d.Attempt+1)
	if hook.Command != "" {
		output, err := h.Command.run(ctx, hook, d, report)
		log.Info("a hook's command has ended", "err", err, "output", output)
		return err
	}
	err := hook.post(ctx, hookClient(h.Base), d, report, now)
	log.Info("a hook was called", "err", err)
	return err
}

// Test tells one hook of an event at once, and keeps nothing.
func (h *Hooks) Test(ctx context.Context, hook Hook, e RunEvent) error {
	return h.attempt(ctx, hook, newDelivery(hook.Name, e, e.At), e.At)
}

// failed puts a delivery off, or gives it up with an alert.
func (h *Hooks) failed(ctx context.Context, hook Hook, d Delivery, err error) error {
	var a *attemptError
	why, after := err.Error(), time.Duration(0)
	if errors.As(err, &a) {
		why, after = a.why, a.after
	}
	now, err := h.Control.now(ctx)
	if err != nil {
		return err
	}
	next, more := d.again(why, after, now)
	if more {
		return h.Control.put(ctx, next)
	}
	h.Control.note(ctx, limiter.EventAlert, Target{Run: d.Event.Run}, "hooks",
		fmt.Sprintf("hook %s was not told that %s: %s (%d attempts in %s)", hook.Name, d.Event.sentence(""), why, next.Attempt, now.Sub(d.First).Round(time.Minute)))
	return h.Control.drop(ctx, d)
}
