package cli

import (
	"context"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// runHooks calls the hooks while a `run` goes on that nobody else calls them for.
type runHooks struct {
	life  *scheduler.LifeWatch
	hooks *scheduler.Hooks
	stop  context.CancelFunc
	done  chan struct{}
}

// hooksPatience is how long the end of a `run` waits for receivers that fail, where what
// is on its way would be lost with its Redis; hooksGlance where it is kept, or where the
// command had nothing to do, so that giving it again costs nothing.
const (
	hooksPatience = 30 * time.Second
	hooksGlance   = 5 * time.Second
)

// hookPauses are those between two tries of that time.
var hookPauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// startHooks begins before the run is there, so that nothing of it is missed; nil where
// a scheduler leads, which does it.
func (s *session) startHooks(ctx context.Context) (*runHooks, error) {
	control := s.control()
	if s.embedded == nil {
		if st, err := control.Status(ctx); err != nil || st.Leader != nil {
			return nil, err
		}
	}
	r := &runHooks{life: &scheduler.LifeWatch{Control: control}, hooks: s.newHooks(control), done: make(chan struct{})}
	if err := r.life.Look(ctx); err != nil {
		return nil, err
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(r.done)
		go r.life.Run(ctx)
		r.hooks.Run(ctx)
	}()
	return r, nil
}

// end stops calling; a second one does nothing.
func (r *runHooks) end() {
	if r != nil {
		r.stop()
		<-r.done
	}
}

// close tells what became of the run, and says what could not be told and who tries
// again; once says that nobody should be kept waiting for that.
func (r *runHooks) close(ctx context.Context, s *session, f *factory, run jobs.Run, once bool) {
	if r == nil {
		return
	}
	r.end()
	patience, pauses := hooksPatience, hookPauses
	if once || s.embedded == nil {
		patience, pauses = hooksGlance, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := r.life.Look(ctx); err != nil {
		s.log.Warn("what became of the run is not told", "err", err)
	}
	for tried := 0; ; tried++ {
		if err := r.hooks.Look(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("hooks are not called", "err", err)
			return
		}
		left, err := r.left(ctx, run)
		if err != nil || len(left) == 0 {
			return
		}
		if tried >= len(pauses) {
			sayUntold(f, run, left, s.embedded == nil)
			return
		}
		if tried == 0 {
			f.say("waiting up to %s for %s that could not be told yet: %s", patience, plural(len(left), "hook"), left[0].Failed)
		}
		select {
		case <-ctx.Done():
			tried = len(pauses) - 1
		case <-time.After(pauses[tried]):
		}
		if err := r.hooks.Control.DueNow(context.WithoutCancel(ctx)); err != nil {
			s.log.Warn("hooks are not called again at once", "err", err)
		}
	}
}

// left is what was not told of a run.
func (r *runHooks) left(ctx context.Context, run jobs.Run) ([]scheduler.Delivery, error) {
	all, err := r.hooks.Control.Deliveries(context.WithoutCancel(ctx))
	return slices.DeleteFunc(all, func(d scheduler.Delivery) bool { return d.Event.Run != run.ID }), err
}

// sayUntold says who was not told, and who will try again.
func sayUntold(f *factory, run jobs.Run, left []scheduler.Delivery, kept bool) {
	next := "once it answers, the same command again tells it"
	if kept {
		next = "it is kept, and the next scheduler tries again for up to a day: nightshift scheduler"
	}
	for _, d := range left {
		f.say("warning: hook %s was not told that %s %s: %s; %s", d.Hook, run.Title(), d.Event.Kind, orElse(d.Failed, "no answer yet"), next)
	}
}
