package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// tellFlags are who is told of one run.
type tellFlags struct {
	On     []string
	Notify []string
	Format string
	Then   string

	once bool // there was nothing left to do: nobody waits for what could not be told at once
}

func (t *tellFlags) addNotifyFlags(fl *pflag.FlagSet) {
	fl.StringArrayVar(&t.Notify, "notify", nil, "`URL` that is told what becomes of the run (see --on); several are possible")
	fl.StringVar(&t.Format, "notify-format", "", "json, slack or markdown: what --notify is sent (default json)")
	t.addOn(fl)
}

func (t *tellFlags) addThenFlags(fl *pflag.FlagSet) {
	fl.StringVar(&t.Then, "then", "", "`COMMAND` for sh that runs here when the run has ended (see --on)")
	t.addOn(fl)
}

func (t *tellFlags) addOn(fl *pflag.FlagSet) {
	if fl.Lookup("on") == nil {
		fl.StringSliceVar(&t.On, "on", nil, "`EVENTS` to tell of: started, finished, halted, capped, late, missed, upgraded (default finished,halted,capped,late)")
	}
}

// check refuses what could not be told, before anything is enqueued.
func (t *tellFlags) check() error {
	for _, kind := range t.On {
		if err := oneOf("--on", kind, scheduler.RunEvents...); err != nil {
			return &usageError{err}
		}
	}
	for _, h := range t.hooks() {
		if err := h.Check(); err != nil {
			return usageErrorf("--notify: %v", err)
		}
	}
	if len(t.On) > 0 && len(t.Notify) == 0 && t.Then == "" {
		return usageErrorf("--on says when to tell; say whom with --notify URL, or --then COMMAND of run and wait")
	}
	return nil
}

func (t *tellFlags) hooks() (out []scheduler.Hook) {
	for _, u := range t.Notify {
		out = append(out, scheduler.Hook{On: t.On, URL: u, Format: t.Format})
	}
	return out
}

// notify has the run's own hooks kept, for whoever calls them.
func (t *tellFlags) notify(ctx context.Context, be *backend, run jobs.Run) error {
	if len(t.Notify) == 0 {
		return nil
	}
	return be.control().Notify(ctx, run.ID, t.hooks())
}

// thenTries is how often --then is run until it succeeds: somebody waits for it.
var thenTries = []time.Duration{0, 2 * time.Second, 10 * time.Second}

// after runs --then for what became of the run. What that ended with stays, also where
// the command fails: that is said.
func (t *tellFlags) after(ctx context.Context, f *factory, be *backend, run jobs.Run, ended error) error {
	kind := endKind(ctx, be, run, ended)
	hook := scheduler.Hook{Name: "--then", On: t.On, Command: t.Then}
	if t.Then == "" || kind == "" || !slices.Contains(onOrDefault(t.On), kind) {
		return ended
	}
	h := &scheduler.Hooks{Control: &scheduler.Control{}, Report: be.hookReport, Command: scheduler.HookCommand{Env: be.conf.commandEnv(), Out: f.Err}}
	e := scheduler.RunEvent{Run: run.ID, Kind: kind, At: f.now(), Occasion: "then"}
	var err error
	tries := thenTries
	if t.once {
		tries = tries[:1]
	}
	for _, wait := range tries {
		select {
		case <-ctx.Done():
			return firstError(ended, ctx.Err())
		case <-time.After(wait):
		}
		if err = h.Test(ctx, hook, e); err == nil {
			return ended
		}
	}
	f.say("warning: --then: %v (tried %s); the same command again runs it once more", err, timesWord(len(tries)))
	return ended
}

func timesWord(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func onOrDefault(on []string) []string {
	if len(on) == 0 {
		return scheduler.DefaultHookOn
	}
	return on
}

// endKind is what became of a run that a command has followed; "" for nothing to tell.
func endKind(ctx context.Context, be *backend, run jobs.Run, ended error) string {
	var coded *codedError
	switch {
	case ended == nil:
		return scheduler.RunFinished
	case !errors.As(ended, &coded):
		return ""
	case coded.code == exitRowsFailed:
		return scheduler.RunFinished
	case coded.code == exitStopped:
		if _, tripped, err := be.store.Brake(ctx, run.ID); err == nil && tripped {
			return scheduler.RunHalted
		}
		return scheduler.RunCapped
	case coded.code == exitDeadline:
		return scheduler.RunLate
	}
	return ""
}
