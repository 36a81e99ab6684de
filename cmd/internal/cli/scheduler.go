package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/scheduler"
)

func newSchedulerCmd(f *factory) *cobra.Command {
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Pause bulk when those who wait for answers suffer, keep windows, mend what was lost",
		Long: "Any number may run: one leads, the others stand by and take over within ten seconds. It watches the shared\n" +
			"figures of interactive calls and holds pausable classes back when they are bad (health in the configuration),\n" +
			"keeps work windows (windows), reconciles queues with what is paused, and sweeps up what was lost.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			be, err := f.openService(cmd.Context(), "scheduler", logs)
			if err != nil {
				return err
			}
			defer be.close()
			return be.runScheduler(cmd.Context())
		},
	}
	logs.add(cmd)
	return cmd
}

func (b *backend) runScheduler(ctx context.Context) error {
	if err := b.conf.checkScheduleFlags(); err != nil {
		return invalid(err)
	}
	s := b.newScheduler()
	watched, err := b.watch("scheduler", b.conf.Scheduler.Metrics)
	if err != nil {
		return err
	}
	defer watched.close()
	defer b.countRowWaits("scheduler")()
	b.tellScheduler(ctx, watched, s)
	b.started(ctx, "scheduler", "windows", len(b.conf.Windows), "p95", *b.conf.Health.P95, "metrics", watched.url)
	for class, w := range b.conf.workWindows() {
		share, until := w.At(time.Now())
		b.log.Info("work window", "class", class, "window", w.Text, "zone", b.conf.TimeZone, "share_now", percent(float64(share)/ppm), "changes", clock(until, time.Now()))
	}
	err = s.Run(ctx)
	b.log.Info("scheduler has ended")
	return err
}

// newScheduler wires what one process does for all.
func (b *backend) newScheduler() *scheduler.Scheduler {
	owner := strings.TrimPrefix(processName(""), ":")
	control := b.control()
	source := scheduler.MeterSource{Redis: b.rdb, Scope: b.conf.scope()}
	all, own := b.conf.Health.thresholds()
	drainer := &jobs.Drainer{Store: b.store, Dir: b.conf.resultsDir(), Logger: b.log}
	return &scheduler.Scheduler{
		Control: control,
		Monitor: &scheduler.Monitor{Control: control, Source: source, Owner: owner, Rules: b.conf.Health.rules(),
			Watch: scheduler.Watch{Thresholds: all, Features: own}},
		Ramps: &scheduler.RampWatch{Ramps: b.ramps(owner), Rules: b.conf.rampRules(),
			Source: scheduler.RampMeterSource{Redis: b.rdb, Scope: b.conf.scope()}},
		Windows:   &scheduler.Windows{Control: control, Of: b.conf.workWindows(), Owner: owner, Ramp: b.conf.windowRamp()},
		Runs:      b.runWatch(),
		Sweeper:   &scheduler.Sweeper{Redis: b.rdb, Store: b.store, Owner: owner, Logger: b.log},
		Snapshots: &scheduler.Snapshots{Control: control, Dir: b.conf.stateDir(), Configure: b.configure},
		Learner:   &scheduler.Learner{Control: control, Source: source, Zone: b.conf.zone(), Owner: owner},
		Bypass:    &scheduler.BypassWatch{Control: control, Source: source, Owner: owner},
		Periodic:  &scheduler.Periodic{Control: control, Of: b.schedules(), Owner: owner},
		Spend:     &scheduler.SpendWatch{Control: control, Owner: owner},
		Keeper:    &scheduler.Keeper{Control: control, Retention: b.conf.retention(), Owner: owner, Removed: b.dropTickets},
		Alerts:    b.alertWatch(control, owner),
		Also:      []func(context.Context){drainer.Run, (&scheduler.LifeWatch{Control: control}).Run, b.newHooks(control).Run},
		Owner:     owner, Digest: b.conf.schedulerDigest(), Logger: b.log,
	}
}

// resultsDir is where finished runs' results are drained to.
func (l *loaded) resultsDir() string { return filepath.Join(l.stateDir(), "results") }

// workWindows were checked when the configuration was read.
func (c *Config) workWindows() map[string]scheduler.Window {
	out := map[string]scheduler.Window{}
	for class, text := range c.Windows {
		if w, err := scheduler.ParseWindow("windows."+class, text, c.zone()); err == nil {
			out[class] = w
		}
	}
	return out
}

// schedulerDigest tells schedulers apart that would decide differently.
func (c *Config) schedulerDigest() string {
	return digest(c.Health, c.rampRules(), c.Windows, c.windowRamp(), c.TimeZone, c.limiterConfig(), c.shownHooks(), c.Schedules, c.Alerts.rules())
}

// digest is a short name for settings: equal ones have the same.
func digest(settings ...any) string {
	b, err := json.Marshal(settings)
	if err != nil {
		return "" // never: they were read from YAML
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
