package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nightshift/scheduler"
)

func newSchedulesCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "The runs that come again: when next, and how the last one went",
		Long: "Lists the schedules of the configuration. The leading scheduler enqueues their runs, one a period, from files on\n" +
			"its machine, relative to the configuration file.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSchedules(cmd.Context(), f) },
	}
	f.addOutputFlag(cmd)
	change := func(use, short, said string, do func(*scheduler.ScheduleState)) {
		cmd.AddCommand(&cobra.Command{Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return changeSchedule(cmd.Context(), f, args[0], said, do)
		}})
	}
	change("run", "Start a run of it now, beside its periods", "a run starts within seconds", func(s *scheduler.ScheduleState) { s.Now = operator() })
	change("skip", "Leave the next period out", "the next period is left out", func(s *scheduler.ScheduleState) { s.SkipOne, s.SkipBy = true, operator() })
	change("hold", "Start nothing until it is resumed", "nothing is started until `nightshift schedules resume`", func(s *scheduler.ScheduleState) { s.Held = operator() })
	change("resume", "Start its runs again", "its next period starts", func(s *scheduler.ScheduleState) { s.Held, s.SkipOne, s.SkipBy = "", false, "" })
	return cmd
}

// scheduleRow is one line of schedules.
type scheduleRow struct {
	Name  string                  `json:"name"`
	When  string                  `json:"when"`
	Input string                  `json:"input"`
	Next  time.Time               `json:"next,omitzero"`
	State scheduler.ScheduleState `json:"state"`
}

func runSchedules(ctx context.Context, f *factory) error {
	be, err := f.openFleet(ctx, "schedules")
	if err != nil {
		return err
	}
	defer be.close()
	states, err := be.control().Schedules(ctx)
	if err != nil {
		return err
	}
	t := newTable("NAME", "WHEN", "NEXT", "LAST", "HOW")
	rows := []scheduleRow{}
	for _, s := range be.schedules() {
		r := scheduleRow{s.Name, s.Cron.Words(), s.Input, s.Cron.Next(f.now()), states[s.Name]}
		rows = append(rows, r)
		t.row(r.Name, r.When, r.next(f.now()), orElse(r.State.Run, "-"), orElse(r.State.Outcome+afterColon(r.State.Text), "-"))
	}
	if len(rows) == 0 {
		f.say("no schedules: add some under schedules in %s", configName)
	} else if members, err := be.control().Members(ctx); err == nil && len(members) == 0 {
		f.say("warning: no scheduler runs, so nothing starts: nightshift scheduler")
	}
	return f.print(t, rows)
}

func (r scheduleRow) next(now time.Time) string {
	switch {
	case r.State.Held != "":
		return "held by " + r.State.Held
	case r.State.SkipOne:
		return clock(r.Next, now) + " (left out)"
	}
	return clock(r.Next, now)
}

func afterColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + firstLine(text)
}

func changeSchedule(ctx context.Context, f *factory, name, said string, do func(*scheduler.ScheduleState)) error {
	be, err := f.openFleet(ctx, "schedules")
	if err != nil {
		return err
	}
	defer be.close()
	if !slices.ContainsFunc(be.schedules(), func(s scheduler.Schedule) bool { return s.Name == name }) {
		return usageErrorf("no schedule %q in the configuration; `nightshift schedules` lists them", name)
	}
	for range 20 {
		state, written, err := be.control().ChangeSchedule(ctx, name, do)
		if err != nil {
			return err
		}
		if written {
			if members, err := be.control().Members(ctx); state.Now != "" && err == nil && len(members) == 0 {
				said = "a run starts once a scheduler does, none runs: nightshift scheduler"
			}
			if state.Held == "" && state.HeldOut > 0 {
				said += "; " + scheduler.PeriodsWords(state.HeldOut) + " began while it was held, and are not made up for"
			}
			fmt.Fprintf(f.Out, "%s: %s\n", name, said)
			return nil
		}
	}
	return fmt.Errorf("schedule %s is changed by others all the time; try again", name)
}
