package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

type setRunOptions struct {
	*factory
	texts map[string]*string
}

func newSetCmd(f *factory) *cobra.Command {
	o := &setRunOptions{factory: f, texts: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "set RUN",
		Short: "Change how a run goes on, or show what is set and by whom",
		Long: "Changes settings of RUN while it goes on, and prints what they were and are. None of them is part\n" +
			"of an answer, so that nothing is done again; the value none takes a setting away. They are in\n" +
			"force within seconds, in every process. Without flags it prints each setting and where it comes\n" +
			"from.",
		Example: "  nightshift set catalog --window \"22:00-07:00@100%, else @10%\" --deadline 07:00 --on-late continue\n" +
			"  nightshift set catalog --max-cost 8\n" +
			"  nightshift set catalog --deadline none",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, s := range append([]runSetting{settingNamed(jobs.SetZone)}, runSettings...) {
				if cmd.Flags().Changed(s.name) && !slices.Contains(names, s.name) {
					names = append(names, s.name)
				}
			}
			return f.withRun(cmd.Context(), args[0], func(be *backend, run jobs.Run) error {
				if len(names) == 0 {
					return o.show(be, run)
				}
				return o.change(cmd.Context(), be, run, names)
			})
		},
	}
	for _, s := range runSettings {
		o.texts[s.name] = cmd.Flags().String(s.name, "", s.help)
	}
	f.addOutputFlag(cmd)
	inSections(cmd)
	return cmd
}

// settingShown is one setting as set prints it.
type settingShown struct {
	Name  string `json:"name"`
	Was   string `json:"was,omitempty"` // of a change
	Value string `json:"value"`
	From  string `json:"from,omitempty"`
}

func (o *setRunOptions) show(be *backend, run jobs.Run) error {
	o.deed.changesNothing()
	now := o.now()
	t := newTable("SETTING", "VALUE", "FROM")
	var list []settingShown
	for _, s := range runSettings {
		x := settingShown{Name: s.name, Value: s.shown(be.conf, run.Spec, now), From: be.settingFrom(run, s.name, now)}
		list = append(list, x)
		t.row(x.Name, x.Value, x.From)
	}
	return o.print(t, list)
}

// settingFrom says where a setting comes from.
func (b *backend) settingFrom(run jobs.Run, name string, now time.Time) string {
	by, ok := run.Set[name]
	switch {
	case !ok:
		return "default, or the configuration when it was enqueued"
	case by.Flag:
		return "--" + name + " when it was enqueued, " + clock(by.At, now)
	}
	return "set by " + orElse(by.By, "nightshift") + ", " + clock(by.At, now)
}

// change changes the settings, in the order of their flags, and puts them into force.
func (o *setRunOptions) change(ctx context.Context, be *backend, run jobs.Run, names []string) error {
	now := o.now()
	was, is, err := be.store.Change(ctx, run.ID, jobs.SetBy{By: o.operator()}, names, func(s *jobs.Spec) error { return o.read(be, s, names) })
	if err != nil {
		return err
	}
	if err := be.runWatch().Apply(ctx, is); err != nil {
		return err
	}
	if !was.Spec.Steer.Deadline.Equal(is.Spec.Steer.Deadline) {
		if err := be.runWatch().TellPassed(ctx, was); err != nil {
			return err
		}
	}
	if was.Spec.Steer.MaxCost == 0 {
		if err := be.countSpent(ctx, is, 0, now); err != nil {
			return err
		}
	}
	t := newTable("SETTING", "WAS", "IS")
	var list []settingShown
	var said []string
	for _, name := range names {
		s := settingNamed(name)
		x := settingShown{Name: name, Was: s.shown(be.conf, was.Spec, now), Value: s.shown(be.conf, is.Spec, now)}
		list, said = append(list, x), append(said, fmt.Sprintf("%s %s → %s", name, s.kept(be.conf, was.Spec, now), s.kept(be.conf, is.Spec, now)))
		t.row(name, x.Was, x.Value)
	}
	o.deed.about("run " + run.Title())
	o.deed.changed(settingWords(list, func(s settingShown) string { return s.Was }), settingWords(list, func(s settingShown) string { return s.Value }))
	event := limiter.Event{Kind: scheduler.EventRun, Subject: run.ID, By: o.operator(), Text: "run " + run.Title() + " set: " + strings.Join(said, "; ")}
	if err := firstError(o.print(t, list), be.lim.Note(ctx, event)); err != nil {
		return err
	}
	return o.follows(ctx, be, is, names)
}

// settingWords are settings in one line: "weight 3, keep 30d".
func settingWords(list []settingShown, value func(settingShown) string) string {
	var words []string
	for _, s := range list {
		words = append(words, s.Name+" "+value(s))
	}
	return strings.Join(words, ", ")
}

// read puts what was given into a specification.
func (o *setRunOptions) read(be *backend, s *jobs.Spec, names []string) error {
	now := o.now()
	for _, name := range names {
		if *o.texts[name] == "" {
			return usageErrorf("--%s is empty: give a value, or %s where there shall be none; nothing was changed", name, noSetting)
		}
		if err := settingNamed(name).read(be.conf, s, *o.texts[name], now); err != nil {
			return settingError(name, err)
		}
	}
	if err := s.Steer.Check(); err != nil {
		return usageErrorf("--%v", err)
	}
	return be.conf.cannotCap(*s, now)
}

// follows says what a person should know of the change.
func (o *setRunOptions) follows(ctx context.Context, be *backend, run jobs.Run, names []string) error {
	warning, err := be.unwatched(ctx, run.Spec.Steer)
	if err != nil {
		return err
	}
	counts, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	missed, err := be.store.Missed(ctx, run.ID)
	if err != nil {
		return err
	}
	switch {
	case missed > 0 && slices.Contains(names, jobs.SetDeadline) && run.Spec.Steer.Late(o.now()) == 0:
		o.say("%s ended at the former deadline: nightshift retry %s --only deadline", plural(int(missed), "row"), typed(run))
	case counts.Open() == 0:
		o.say("%s has no open row: it holds for rows that are retried or added", run.Title())
	case warning != "":
		o.say("%s", warning)
	}
	return be.capNote(ctx, o.streams, run, counts, names)
}

// capNote says what of a new cap is spent already.
func (b *backend) capNote(ctx context.Context, s *streams, run jobs.Run, counts jobs.Counts, names []string) error {
	if !slices.Contains(names, jobs.SetMaxCost) || run.Spec.Steer.MaxCost == 0 {
		return nil
	}
	c, ok, err := b.control().CapOf(ctx, run, counts)
	if err != nil || !ok {
		return err
	}
	held := ""
	if c.Held > 0 {
		held = " and " + usd(c.Held) + " held by calls under way"
	}
	s.say("%s of %s is spent%s%s", usd(c.Spent-c.Held), usd(c.Cap), held, map[bool]string{true: "; nothing more fits"}[c.Spent >= c.Cap])
	return nil
}
