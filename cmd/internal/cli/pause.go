package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

type pauseOptions struct {
	*factory
	Target   string
	Until    string
	Reason   string
	Now      bool
	Override time.Duration
}

func newPauseCmd(f *factory) *cobra.Command {
	o := &pauseOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "pause bulk|CLASS|RUN|QUEUE",
		Short: "Let nothing more of a class, a run or a queue start",
		Long: "Closes a class (bulk, evaluation, background), one run, or one queue. Nothing of it starts from then on, by\n" +
			"whatever way; calls in flight end and are kept, waiting rows keep their places. It stays so until --until, or\n" +
			"until somebody resumes it: nothing else lifts what a person paused.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = args[0]
			if cmd.Flags().Changed("until") && o.Until == "" {
				return usageErrorf("--until is empty: give a time, or leave --until away to pause until somebody resumes; nothing was paused")
			}
			return runPause(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Until, "until", "", "when it ends: a `TIME` of day (10:00), a moment (2026-12-01T10:00) or a time from now (45m)")
	fl.StringVar(&o.Reason, "reason", "", "why, for those who see it")
	fl.BoolVar(&o.Now, "now", false, "also abort the calls in flight; they stay charged at their estimate, and their rows run again later")
	f.addOutputFlag(cmd)
	return cmd
}

// control pauses and resumes as this configuration's classes have it.
func (b *backend) control() *scheduler.Control {
	return &scheduler.Control{
		Redis: b.rdb, Limiter: b.lim, Store: b.store, Scope: b.conf.scope(), Classes: b.conf.classTable(),
		CallTimeout: b.conf.Worker.CallTimeout, Logger: b.log,
	}
}

func runPause(ctx context.Context, o *pauseOptions) error {
	until, err := moment(o.Until, o.now())
	if err != nil {
		return usageErrorf("--until %s: %v", o.Until, err)
	}
	return o.onTarget(ctx, func(be *backend, c *scheduler.Control, target scheduler.Target) error {
		return o.pause(ctx, be, c, target, until)
	})
}

// onTarget finds what the user named and does something with it.
func (o *pauseOptions) onTarget(ctx context.Context, do func(*backend, *scheduler.Control, scheduler.Target) error) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	c := be.control()
	target, err := c.ParseTarget(ctx, o.Target)
	if err == nil {
		err = o.deed.toTarget(ctx, be, target, o.now(), func() error { return do(be, c, target) })
	}
	return asTargetError(err)
}

func (o *pauseOptions) pause(ctx context.Context, be *backend, c *scheduler.Control, target scheduler.Target, until time.Time) error {
	before, err := be.pausedBefore(ctx, target)
	if err != nil {
		return err
	}
	effect, err := c.Pause(ctx, scheduler.PauseRequest{Target: target, Owner: operator(), Until: until, Detail: o.Reason})
	if err != nil {
		return err
	}
	if o.Now {
		if err := be.abort(ctx, target, o.now()); err != nil {
			return err
		}
	}
	sentence := pausedSentence(c.Describe(ctx, target), effect, until, o.now(), o.Now)
	if before != nil {
		sentence += fmt.Sprintf("\nThat replaces the pause of %s: it held %s.", before.Owner, untilWords(before.Until, o.now()))
	}
	lines, err := be.pausedPast(ctx, target, until, o.now())
	for _, line := range lines {
		o.say("%s", line)
	}
	return firstError(err, o.tell(effect, sentence))
}

// pausedBefore is what a person had paused of the target before; nil for nothing.
func (b *backend) pausedBefore(ctx context.Context, t scheduler.Target) (*limiter.Pause, error) {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	for i, p := range pauses {
		same := p.Class == t.Class && p.Run == t.Run && p.Lane == t.Lane && string(p.Priority) == string(t.Priority)
		if same && p.Reason == scheduler.ReasonOperator {
			return &pauses[i], nil
		}
	}
	return nil, nil
}

func untilWords(until, now time.Time) string {
	if until.IsZero() {
		return "until it is resumed"
	}
	return "until " + clock(until, now)
}

// abort drops the calls in flight of every open run that a pause closes.
func (b *backend) abort(ctx context.Context, t scheduler.Target, now time.Time) error {
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if closes(t, r) {
			if err := worker.Abort(ctx, b.rdb, r.ID, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// closes says whether a pause of the target keeps the run from starting calls.
func closes(t scheduler.Target, r jobs.Run) bool {
	switch {
	case t.Class != "":
		return r.Spec.Class == t.Class
	case t.Run != "":
		return r.ID == t.Run
	}
	return r.Spec.Lane == t.Lane && r.Spec.Priority == t.Priority
}

// asTargetError makes what the user named wrongly an error of the command line.
func asTargetError(err error) error {
	var none *scheduler.NoTargetError
	var never *scheduler.NotPausableError
	var past *scheduler.PastError
	var many *jobs.AmbiguousError
	if errors.As(err, &none) || errors.As(err, &never) || errors.As(err, &past) || errors.As(err, &many) {
		return &usageError{err}
	}
	return err
}

func (o *pauseOptions) tell(e scheduler.Effect, sentence string) error {
	if o.opts.output == "json" {
		return o.print(nil, e)
	}
	fmt.Fprintln(o.Out, sentence)
	return nil
}

func pausedSentence(what string, e scheduler.Effect, until, now time.Time, aborted bool) string {
	is := " is"
	if strings.Contains(what, ", ") {
		is = " are"
	}
	parts := []string{what + is + " paused"}
	if !until.IsZero() {
		parts[0] += " until " + clock(until, now)
	}
	parts = append(parts, plural(len(e.Closed), "queue")+" closed")
	switch {
	case e.InFlight > 0 && aborted:
		parts = append(parts, "its calls in flight are aborted within a second or two and stay charged")
	case e.InFlight > 0:
		parts = append(parts, fmt.Sprintf("%s in flight, the last ends in ≤ %s", plural(int(e.InFlight), "call"), ago(e.EndsWithin.Duration())))
	default:
		parts = append(parts, "no call in flight")
	}
	return strings.Join(parts, ", ") + "."
}

func newResumeCmd(f *factory) *cobra.Command {
	o := &pauseOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "resume bulk|CLASS|RUN|QUEUE",
		Short: "Lift what was paused by hand, or overrule the health monitor for a while",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Target = args[0]
			if cmd.Flags().Changed("override") && o.Override < time.Second {
				return usageErrorf("--override %s: want at least 1s", o.Override)
			}
			return runResume(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&o.Override, "override", 0, "also lift a pause of the health monitor, and keep it from pausing for so long")
	f.addOutputFlag(cmd)
	return cmd
}

func runResume(ctx context.Context, o *pauseOptions) error {
	return o.onTarget(ctx, func(be *backend, c *scheduler.Control, target scheduler.Target) error {
		effect, err := c.Resume(ctx, target, scheduler.ResumeRequest{By: operator(), Override: o.Override})
		if err != nil {
			for _, b := range effect.Looks { // that is done even so
				o.say("%s", looksNow(b))
			}
			return err
		}
		warning, err := be.stoppedRun(ctx, target.Run)
		return firstError(err, o.tell(effect, resumedSentence(c.Describe(ctx, target), effect, o.now())+warning))
	})
}

func resumedSentence(what string, e scheduler.Effect, now time.Time) string {
	s := fmt.Sprintf("%s is resumed, %s opened.", what, plural(len(e.Opened), "queue"))
	if e.Lifted == 0 {
		s = what + " was not paused."
		if len(e.Looks) > 0 {
			s = what + " is held back by no pause."
		}
	}
	if !e.Until.IsZero() {
		s += fmt.Sprintf(" The health monitor is overruled until %s (nightshift health hold --end lets it decide before).", clock(e.Until, now))
	}
	for _, b := range e.Looks {
		s += "\n" + looksNow(b)
	}
	for _, p := range e.Still {
		s += "\nIt stays closed: " + pauseSentence(&p, now) + "."
	}
	return s
}

// looksNow says what a resume does to an open breaker.
func looksNow(b limiter.BreakerState) string {
	who := "The next call"
	if lane, err := limiter.ParseLane(b.Lane); err == nil {
		who += " of " + lane.Model
	}
	return fmt.Sprintf("%s looks now whether this still holds: %s.", who, orElse(b.Detail, string(b.Reason)))
}

// moment is momentIn the zone of this machine.
func moment(text string, now time.Time) (time.Time, error) { return momentIn(text, now, time.Local) }

// momentIn reads a time of day in a zone, the next one of which is meant, a day and
// time, or a distance from now. "" is no moment.
func momentIn(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return time.Time{}, errors.New("that is in the past")
		}
		return now.Add(d), nil
	}
	daytime := strings.TrimSuffix(text, " "+now.In(zone).Format("MST")) // as times are printed
	for _, layout := range []string{"15:04", time.TimeOnly} {
		t, err := time.ParseInLocation(layout, daytime, zone)
		if err != nil {
			continue
		}
		y, m, d := now.In(zone).Date()
		at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, zone)
		if !at.After(now) {
			at = time.Date(y, m, d+1, t.Hour(), t.Minute(), t.Second(), 0, zone)
		}
		return at, nil
	}
	t, err := dayAndTime(text, zone)
	if err == nil && !t.After(now) {
		err = fmt.Errorf("that was %s ago", ago(now.Sub(t)))
	}
	return t, err
}

func dayAndTime(text string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("want a time of day (10:00, 10:00:30), a moment (2026-12-01T10:00) or a time from now (45m)")
}

func (c *Config) scope() limiter.Scope {
	return limiter.Scope{Provider: "gemini", Project: c.Gemini.Project}
}
