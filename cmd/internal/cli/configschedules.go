package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// ScheduleConfig is a run that comes again: name, cron, zone, input and missed, and
// any flag of enqueue by its name.
type ScheduleConfig map[string]any

// scheduleKeys are those that are no flags of enqueue.
var scheduleKeys = []string{"name", "cron", "zone", "input", "missed"}

// notScheduled are flags of enqueue that a schedule decides by itself.
var notScheduled = []string{"update", "output", "help"}

// scheduledRamp is over which time a schedule's runs start that says nothing of it.
const scheduledRamp = "10m"

func (s ScheduleConfig) text(key string) string {
	if s[key] == nil {
		return ""
	}
	return fmt.Sprint(s[key])
}

// checkSchedules checks what needs no file.
func (c *Config) checkSchedules() error {
	seen := map[string]bool{}
	for i, s := range c.Schedules {
		where := fmt.Sprintf("schedules: number %d", i+1)
		if name := s.text("name"); name != "" {
			where = "schedules: " + name
		}
		if _, err := c.schedule(s); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if seen[s.text("name")] {
			return fmt.Errorf("%s: there are two of this name", where)
		}
		seen[s.text("name")] = true
	}
	return nil
}

// checkScheduleFlags finds a schedule with a key that is no flag, or a value that its
// flag does not take: it would start nothing, night after night.
func (l *loaded) checkScheduleFlags() error {
	for _, s := range l.Schedules {
		if _, _, err := s.command(nil, filepath.Dir(l.File), l.TimeZone); err != nil {
			return fmt.Errorf("schedules: %s: %w", s.text("name"), err)
		}
	}
	return nil
}

// schedule reads one, without its flags.
func (c *Config) schedule(s ScheduleConfig) (out scheduler.Schedule, err error) {
	out = scheduler.Schedule{Name: s.text("name"), Input: s.text("input"), Skip: s.text("missed") == "skip"}
	zone := c.zone()
	if name := s.text("zone"); name != "" {
		if err := zoneOK("zone", name); err != nil {
			return out, err
		}
		zone, _ = time.LoadLocation(name) // it was looked at
	}
	if err := firstError(nameOK("name", out.Name), oneOf("missed", s.text("missed"), "", "run", "skip")); err != nil {
		return out, err
	}
	if out.Input == "" || out.Input == "-" {
		return out, errors.New("input: want a file")
	}
	if out.Cron, err = scheduler.ParseCron(s.text("cron"), zone); err != nil {
		return out, fmt.Errorf("cron: %w", err)
	}
	return out, nil
}

// command is an enqueue with the schedule's flags set, its files beside the configuration.
// zone is that of schedules that name none.
func (s ScheduleConfig) command(f *factory, dir, zone string) (*enqueueOptions, *cobra.Command, error) {
	o := &enqueueOptions{}
	cmd := &cobra.Command{Use: "enqueue"}
	o.addFlags(cmd)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if slices.Contains(scheduleKeys, key) {
			continue
		}
		name := strings.ReplaceAll(key, "_", "-")
		flag := cmd.Flags().Lookup(name)
		if flag == nil || slices.Contains(notScheduled, name) {
			return nil, nil, fmt.Errorf("%s: no key of a schedule and no flag of enqueue", key)
		}
		if err := setFlag(cmd.Flags(), flag, s[key], dir); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if fl := cmd.Flags(); fl.Changed(jobs.SetWindow) || fl.Changed(jobs.SetDeadline) { // nobody's own clock: the schedule's
		_ = fl.Set(jobs.SetZone, orElse(s.text("zone"), zone)) // the flag is there, and the names were looked at
	}
	if !cmd.Flags().Changed(jobs.SetRamp) { // nobody watches its first minutes
		_ = cmd.Flags().Set(jobs.SetRamp, scheduledRamp) // the flag is there
	}
	return o, cmd, nil
}

// setFlag gives a flag its value, or each of a list.
func setFlag(fl *pflag.FlagSet, flag *pflag.Flag, v any, dir string) error {
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	kind, _ := pflag.UnquoteUsage(flag)
	for _, v := range values {
		text := fmt.Sprint(v)
		if kind == "FILE" {
			text = fromDir(dir, text)
		}
		if err := fl.Set(flag.Name, text); err != nil {
			return err
		}
	}
	return nil
}

// fromDir takes a relative path from a folder.
func fromDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// prepareSchedule reads and checks all of a schedule's input.
func (l *loaded) prepareSchedule(ctx context.Context, s ScheduleConfig, run string) (*batch, *enqueueOptions, error) {
	dir := filepath.Dir(l.File)
	f := &factory{streams: &streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, now: time.Now, conf: l}
	o, cmd, err := s.command(f, dir, l.TimeZone)
	if err != nil {
		return nil, nil, &usageError{err}
	}
	if run != "" {
		o.Name = run
	}
	// Its name is the period's alone: what changed while a leader died in it is taken in.
	o.Update = true
	b, err := o.prepare(ctx, f, cmd, []string{fromDir(dir, s.text("input"))})
	return b, o, err
}

// schedules are what the leading scheduler starts.
func (b *backend) schedules() (out []scheduler.Schedule) {
	for _, conf := range b.conf.Schedules {
		s, err := b.conf.schedule(conf)
		if err != nil {
			continue // the configuration was checked
		}
		s.Start = func(ctx context.Context, run string) (jobs.EnqueueReport, error) {
			return b.startScheduled(ctx, conf, run)
		}
		out = append(out, s)
	}
	return out
}

func (b *backend) startScheduled(ctx context.Context, s ScheduleConfig, run string) (rep jobs.EnqueueReport, err error) {
	batch, o, err := b.conf.prepareSchedule(ctx, s, run)
	var usage *usageError
	var coded *codedError
	if errors.As(err, &usage) || errors.As(err, &coded) {
		return rep, &scheduler.StartError{Err: err}
	}
	if err != nil {
		return rep, err
	}
	defer batch.close()
	if err := b.configure(ctx); err != nil {
		return rep, err
	}
	if rep, _, err = o.put(ctx, b, batch, nil); err != nil {
		return rep, err
	}
	if err := batch.quota.usedToday(ctx, b.lim); err == nil {
		b.expect(ctx, batch, rep, time.Now())
	}
	return rep, nil
}
