package cli

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
	"nightshift/worker"
)

// overview is the operator's one screen, gathered once for status and for the
// dashboard's home.
type overview struct {
	At        time.Time            `json:"at"`
	Project   string               `json:"project"`
	Health    scheduler.Status     `json:"health"`
	Pauses    []limiter.Pause      `json:"pauses"`
	Throttles []limiter.Throttle   `json:"throttles"`
	Users     []*userOfQuota       `json:"users"` // of the last five minutes
	Lanes     []limiter.LaneState  `json:"lanes"`
	Runs      []runStatus          `json:"runs"`
	Fleet     []worker.WorkerInfo  `json:"workers"`
	Events    []limiter.Event      `json:"events"` // the last few
	Alerts    []scheduler.Alert    `json:"alerts"` // that hold now
	Spent     []spent              `json:"spend"`
	Advice    []advice             `json:"advice"`
	Degraded  degradedHour         `json:"degraded"`
	Ramps     []rampRow            `json:"ramps,omitempty"`          // that move calls now
	Others    map[string]int       `json:"other_projects,omitempty"` // runs of other projects on the same Redis, by project
	queues    []worker.QueueState  // that have tasks; on watch's screen only
	samples   []gemini.UsageSample // behind Users
	minute    minuteUse            // of the last minute; on pages only
}

// lately is what the screen calls "now".
const lately = 5 * time.Minute

// overview gathers the screen. Each part is one or two round trips, but for the
// lanes, which are some each.
func (b *backend) overview(ctx context.Context, now time.Time) (*overview, error) {
	o, err := b.fleetNow(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, gather := range []func(context.Context) error{
		func(ctx context.Context) error { return o.gatherUsers(ctx, b) },
		func(ctx context.Context) (err error) { o.Others, err = b.otherRuns(ctx); return err },
		func(ctx context.Context) (err error) { o.Lanes, err = b.laneStates(ctx, ""); return err },
		func(ctx context.Context) (err error) { o.Spent, err = b.spent(ctx, now); return err },
		func(ctx context.Context) error { return o.gatherDegraded(ctx, b) },
		func(ctx context.Context) error { return o.gatherRamps(ctx, b) },
	} {
		if err := gather(ctx); err != nil {
			return nil, err
		}
	}
	o.judge(b)
	return o, nil
}

// fleetNow is what the screen shows of the fleet, but for its lanes and who uses them,
// which are the more the larger it is.
func (b *backend) fleetNow(ctx context.Context, now time.Time) (*overview, error) {
	o := &overview{At: now, Project: b.conf.Gemini.Project}
	for _, gather := range []func(context.Context) error{
		func(ctx context.Context) (err error) { o.Runs, o.Fleet, err = b.statuses(ctx); return err },
		func(ctx context.Context) (err error) { o.Pauses, err = b.lim.Pauses(ctx); return err },
		func(ctx context.Context) (err error) { o.Throttles, err = b.lim.Throttles(ctx); return err },
		func(ctx context.Context) (err error) {
			o.Events, err = b.lim.Events(ctx, now.Add(-24*time.Hour), 6)
			return err
		},
		func(ctx context.Context) (err error) { o.Health, err = b.control().Status(ctx); return err },
		func(ctx context.Context) (err error) { o.Alerts, _, err = b.control().Firing(ctx); return err },
	} {
		if err := gather(ctx); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// judge works out what follows from what was gathered.
func (o *overview) judge(b *backend) {
	o.dropEnded()
	o.estimate()
	o.advise(b)
}

// dropEnded forgets the pauses of runs whose rows have all ended: they hold nothing.
func (o *overview) dropEnded() {
	o.Pauses = slices.DeleteFunc(o.Pauses, func(p limiter.Pause) bool {
		return p.Run != "" && slices.ContainsFunc(o.Runs, func(r runStatus) bool { return r.ID == p.Run && r.counts.Open() == 0 })
	})
}

// lately is the beginning of what the screen takes for now.
func (o *overview) lately() time.Time { return o.At.Add(-lately).Truncate(time.Minute) }

func (o *overview) gatherUsers(ctx context.Context, b *backend) error {
	from := o.lately()
	samples, err := gemini.ReadMeter(ctx, b.rdb, b.conf.scope(), gemini.StepMinute, from, o.At)
	if len(samples) > 0 {
		from = samples[0].At // what has just begun is not averaged with the silence before
	}
	o.Users, o.samples = whoTable(samples, from, o.At), samples
	return err
}

// laneStates are those of one model, or of all.
func (b *backend) laneStates(ctx context.Context, model string) ([]limiter.LaneState, error) {
	lanes, err := b.lim.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []limiter.Lane
	for _, lc := range lanes {
		if model == "" || equalModel(model, lc.Lane) {
			wanted = append(wanted, lc.Lane)
		}
	}
	states, err := b.lim.States(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 && model != "" {
		return nil, noLane(model, lanes)
	}
	return states, nil
}
