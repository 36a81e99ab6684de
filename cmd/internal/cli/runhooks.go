package cli

import (
	"context"
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
// is on its way would be lost with its Redis.
const hooksPatience = 30 * time.Second

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

// close tells what became of the run, and says what could not be told.
func (r *runHooks) close(ctx context.Context, s *session, f *factory, run jobs.Run) {
	if r == nil {
		return
	}
	r.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hooksPatience)
	defer cancel()
	if err := r.life.Look(ctx); err != nil {
		s.log.Warn("what became of the run is not told", "err", err)
	}
	for tried := 0; ; tried++ {
		if err := r.hooks.Look(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("hooks are not called", "err", err)
			return
		}
		left, err := r.hooks.Control.Deliveries(context.WithoutCancel(ctx))
		if err != nil || len(left) == 0 || s.embedded == nil {
			return // a shared Redis keeps them for a scheduler
		}
		if tried == 0 {
			f.say("waiting up to %s for %s that could not be told yet: %s", hooksPatience, plural(len(left), "hook"), left[0].Failed)
		}
		if tried == len(hookPauses) {
			for _, d := range left {
				f.say("warning: hook %s was not told that %s %s: %s; once it answers, the same command again tells it", d.Hook, run.Title(), d.Event.Kind, d.Failed)
			}
			return
		}
		select {
		case <-ctx.Done():
			tried = len(hookPauses) - 1
		case <-time.After(hookPauses[tried]):
		}
		if err := r.hooks.Control.DueNow(context.WithoutCancel(ctx)); err != nil {
			s.log.Warn("hooks are not called again at once", "err", err)
		}
	}
}
