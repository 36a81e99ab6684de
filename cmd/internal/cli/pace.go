package cli

import (
	"context"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// pace is how many rows a minute came through of each model, in the time in which an
// open run could work and any did: a run that has just begun, or goes on after a pause,
// is not slow. Less than a minute says nothing.
func (o *overview) pace() map[string]float64 {
	good, worked := map[string]int64{}, map[string]map[time.Time]time.Duration{}
	for _, s := range o.samples {
		could := o.couldWork(s)
		if s.Good == 0 || could <= 0 {
			continue
		}
		good[s.Model] += s.Good
		if worked[s.Model] == nil {
			worked[s.Model] = map[time.Time]time.Duration{}
		}
		worked[s.Model][s.At] = max(worked[s.Model][s.At], could)
	}
	pace := map[string]float64{}
	for model, n := range good {
		var passed time.Duration
		for _, could := range worked[model] {
			passed += could
		}
		if passed >= time.Minute {
			pace[model] = float64(n) / passed.Minutes()
		}
	}
	return pace
}

// couldWork is how much of a sample's minute an open run of its kind could work in.
func (o *overview) couldWork(s gemini.UsageSample) (most time.Duration) {
	end := s.At.Add(time.Minute)
	if o.At.Before(end) {
		end = o.At // the minute of now is not over
	}
	for _, r := range o.Runs {
		if r.wasOpen(s) && (!inside(r.updated, s.At, end) || o.wentBefore(s)) {
			most = max(most, end.Sub(s.At)-scheduler.PausedFor(r.closings, s.At, end))
		}
	}
	return most
}

// wasOpen says that a sample may be of the run's rows, which were there for all of
// its minute and are not at their end.
func (r runStatus) wasOpen(s gemini.UsageSample) bool {
	return r.counts.Open() > 0 && r.Class == s.Class && r.Feature == s.Feature && !s.At.Before(r.Created)
}

// wentBefore says that rows ended in the minute before a sample's as well: what came
// to a run in it, as by a retry, was not its first work.
func (o *overview) wentBefore(s gemini.UsageSample) bool {
	return slices.ContainsFunc(o.samples, func(b gemini.UsageSample) bool {
		return b.Good > 0 && b.Model == s.Model && b.Class == s.Class && b.Feature == s.Feature && b.At.Equal(s.At.Add(-time.Minute))
	})
}

func inside(t, from, to time.Time) bool { return !t.Before(from) && t.Before(to) }

// closingsOf is when a run was closed; nothing for one of another project.
func (b *backend) closingsOf(ctx context.Context, r jobs.Run) ([]limiter.Closing, error) {
	lane, err := limiter.ParseLane(r.Spec.Lane)
	if err != nil {
		return nil, nil // it is told of elsewhere
	}
	return b.lim.Closings(ctx, lane, r.Spec.Class, runPath(r), r.Spec.Feature)
}
