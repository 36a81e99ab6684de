package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
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
	Zone    *time.Location    // of the times that receivers read; nil: in RFC 3339 as they are kept

	going sync.WaitGroup
	mu    sync.Mutex
	busy  map[string]bool // receivers that are being told, by name; mu
	errs  []error         // of what was told since the last look; mu
}

const (
	// hooksEvery bounds how late an event is told.
	hooksEvery = 2 * time.Second
	// hooksAtOnce bounds how many receivers are told side by side.
	hooksAtOnce = 8
)

// Run tells until the context ends, and then waits for what is under way.
func (h *Hooks) Run(ctx context.Context) {
	repeat(ctx, hooksEvery, h.Control.log(), "calling hooks", h.begin)
	h.going.Wait()
}

// Look tells what is due, and waits until all are told.
func (h *Hooks) Look(ctx context.Context) error {
	err := h.begin(ctx)
	h.going.Wait()
	return errors.Join(err, h.takeErrors())
}

// begin tells what is due, each receiver by itself: a slow one holds up no other. One
// that is still being told is left for the next look.
func (h *Hooks) begin(ctx context.Context) error {
	now, err := h.Control.now(ctx)
	if err != nil {
		return err
	}
	if err := h.Control.fanOut(ctx, h.Hooks, now); err != nil {
		return err
	}
	all, err := h.Control.Deliveries(ctx)
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	for name, lines := range dueLines(all, now) {
		if !h.take(name) {
			continue
		}
		h.going.Go(func() {
			defer h.release(name)
			for _, line := range lines {
				h.tellLine(ctx, line)
			}
		})
	}
	return h.takeErrors()
}

func (h *Hooks) take(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[name] || len(h.busy) >= hooksAtOnce {
		return false
	}
	if h.busy == nil {
		h.busy = map[string]bool{}
	}
	h.busy[name] = true
	return true
}

func (h *Hooks) release(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, name)
}

func (h *Hooks) takeErrors() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := errors.Join(h.errs...)
	h.errs = nil
	return err
}

// tellLine tells one receiver of one run's events, in their order: what comes behind an
// attempt that failed waits with it, so that nobody hears of a run's start after its end.
func (h *Hooks) tellLine(ctx context.Context, line []Delivery) {
	for i, d := range line {
		if ctx.Err() != nil {
			return
		}
		again, err := h.deliver(ctx, d)
		for _, behind := range line[i+1:] {
			if again.IsZero() {
				break
			}
			behind.Next = limiter.Later(behind.Next, again)
			err = errors.Join(err, h.Control.put(context.WithoutCancel(ctx), behind))
		}
		if err != nil {
			h.mu.Lock()
			h.errs = append(h.errs, err)
			h.mu.Unlock()
		}
		if err != nil || !again.IsZero() {
			return
		}
	}
}

// deliver makes one attempt; again is when the next one is due, if it failed. Before
// it, the delivery is put off by longer than the attempt can take: a process that dies
// on the way leaves it to be made again.
func (h *Hooks) deliver(ctx context.Context, d Delivery) (again time.Time, err error) {
	hook, found, err := h.Control.hookNamed(ctx, h.Hooks, d.Hook)
	if err != nil {
		return again, err
	}
	now, err := h.Control.now(ctx)
	if err != nil {
		return again, err
	}
	if !found {
		h.Control.log().Warn("a hook is not configured any more; what it should be told is dropped", "hook", d.Hook, "run", d.Event.Run, "event", d.Event.Kind)
		return again, h.Control.drop(ctx, d)
	}
	claim := d
	claim.Next = now.Add(hook.timeout() + 30*time.Second)
	if err := h.Control.put(ctx, claim); err != nil {
		return again, err
	}
	failed := h.attempt(ctx, hook, d, now)
	if ctx.Err() != nil {
		return again, ctx.Err() // we end: it was not the receiver's fault
	}
	ctx = context.WithoutCancel(ctx)
	if failed == nil {
		return again, h.Control.drop(ctx, d)
	}
	return h.failed(ctx, hook, d, failed)
}

// attempt tells one hook of one event, now.
func (h *Hooks) attempt(ctx context.Context, hook Hook, d Delivery, now time.Time) error {
	d.Event = d.Event.in(h.Zone, now)
	var report RunReport
	if h.Report != nil && d.Event.ofRun() {
		var err error
		if report, err = h.Report(ctx, d.Event.Run); err != nil {
			h.Control.log().Warn("a hook is called without a report", "hook", hook.Name, "run", d.Event.Run, "err", err)
		}
	}
	log := h.Control.log().With("hook", hook.Name, "to", hook.Target(), "run", d.Event.Run, "event", d.Event.Kind, "attempt", d.Attempt+1)
	if hook.Command != "" {
		output, err := h.Command.run(ctx, hook, d, report)
		if err != nil {
			log.Warn("a hook's command failed", "err", err, "output", output)
			return err
		}
		log.Info("a hook's command has ended", "output", output)
		return nil
	}
	err := hook.post(ctx, hookClient(h.Base), d, report, now)
	if err != nil {
		log.Warn("a hook was not reached", "err", err)
		return err
	}
	log.Info("a hook was called")
	return nil
}

// Test tells one hook of an event at once, and keeps nothing.
func (h *Hooks) Test(ctx context.Context, hook Hook, e RunEvent) error {
	return h.attempt(ctx, hook, newDelivery(hook.Name, e, e.At), e.At)
}

// failed puts a delivery off, or gives it up with an alert; then again is zero.
func (h *Hooks) failed(ctx context.Context, hook Hook, d Delivery, err error) (again time.Time, _ error) {
	var a *attemptError
	why, after := err.Error(), time.Duration(0)
	if errors.As(err, &a) {
		why, after = a.why, a.after
	}
	now, err := h.Control.now(ctx)
	if err != nil {
		return again, err
	}
	next, more := d.again(why, after, now)
	if more {
		return next.Next, h.Control.put(ctx, next)
	}
	h.Control.note(ctx, limiter.EventAlert, Target{Run: d.Event.Run}, "hooks",
		fmt.Sprintf("hook %s was not told that %s: %s (%d attempts in %s)", hook.Name, d.Event.sentence(""), why, next.Attempt, now.Sub(d.First).Round(time.Minute)))
	return again, h.Control.drop(ctx, d)
}
