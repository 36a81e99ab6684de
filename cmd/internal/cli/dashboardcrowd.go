package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// crowd is what pages show of all who use the fleet together: the more there are, the
// longer it takes to read. It is not changed.
type crowd struct {
	minute  minuteUse
	users   []*userOfQuota                  // of the last five minutes
	tenants []*userOfQuota                  // of this minute and the one before, by class
	samples map[string][]gemini.UsageSample // behind users, by model
	nodes   []string                        // tenants and others with limits of their own
}

// How often the dashboard looks, beside its pages, at what takes long.
const (
	crowdEvery = 3 * time.Second
	fullEvery  = 20 * time.Second
)

// keep does so until the context ends.
func (d *dashboardNow) keep(ctx context.Context) {
	go d.crowd.Keep(ctx, crowdEvery, time.Now, d.lookCrowd)
	go d.full.Keep(ctx, fullEvery, time.Now, d.lookFull)
	go d.book.Keep(ctx)
}

// seenCrowd is the crowd as it was some seconds ago.
func (d *dashboardNow) seenCrowd(ctx context.Context, now time.Time) (*crowd, error) {
	return d.crowd.Seen(ctx, now, fleetFor, d.lookCrowd)
}

func (d *dashboardNow) lookCrowd(ctx context.Context) (*crowd, error) {
	o := &overview{At: time.Now()}
	if err := o.gatherUsers(ctx, d.backend); err != nil {
		return nil, err
	}
	minute, err := gemini.ReadMeter(ctx, d.rdb, d.conf.scope(), gemini.Step5s, o.At.Add(-time.Minute), o.At)
	if err != nil {
		return nil, err
	}
	c := &crowd{minute: newMinuteUse(minute, o.At), users: o.Users, samples: map[string][]gemini.UsageSample{}}
	for _, s := range o.samples {
		c.samples[s.Model] = append(c.samples[s.Model], s)
	}
	if c.tenants, err = d.tenantsLately(ctx, o.At); err != nil {
		return nil, err
	}
	if c.nodes, err = d.lim.Nodes(ctx); err != nil {
		return nil, err
	}
	c.nodes = slices.DeleteFunc(c.nodes, isPattern)
	return c, nil
}

// tenantsLately are tenants, with limits of their own or without, by what they used as
// each class in this minute and the one before.
func (b *backend) tenantsLately(ctx context.Context, now time.Time) ([]*userOfQuota, error) {
	from := now.Add(-time.Minute).Truncate(time.Minute)
	used, err := gemini.NewHistory(b.rdb, b.conf.scope()).Tenants(ctx, from, now)
	return whoTable(used, from, now), err
}

// samplesOf are those of some lanes' models.
func (c *crowd) samplesOf(lanes []limiter.LaneState) (out []gemini.UsageSample) {
	var seen []string
	for _, l := range lanes {
		if !slices.Contains(seen, l.Lane.Model) {
			seen, out = append(seen, l.Lane.Model), append(out, c.samples[l.Lane.Model]...)
		}
	}
	return out
}

// minuteUse is what was used in a minute, added up as pages show it.
type minuteUse struct {
	users   []*userOfQuota
	all     gemini.UsageSample // counts only
	classes map[string]gemini.UsageSample
	lanes   map[[2]string]*laneUse // by region and model
}

// laneUse is what lanes are ranked and found by.
type laneUse struct {
	calls, bad int64
	words      string // features, in small letters
}

func newMinuteUse(samples []gemini.UsageSample, now time.Time) minuteUse {
	m := minuteUse{users: whoTable(samples, now.Add(-time.Minute), now), classes: map[string]gemini.UsageSample{}, lanes: map[[2]string]*laneUse{}}
	for i := range samples {
		m.add(&samples[i])
	}
	return m
}

func (m *minuteUse) add(s *gemini.UsageSample) {
	class := m.classes[s.Class]
	class.Merge(*s)
	m.classes[s.Class] = class
	a := &m.all
	a.Calls, a.Requests, a.InputTokens, a.OutputTokens = a.Calls+s.Calls, a.Requests+s.Requests, a.InputTokens+s.InputTokens, a.OutputTokens+s.OutputTokens
	a.Refused, a.OwnLimit, a.Provider429 = a.Refused+s.Refused, a.OwnLimit+s.OwnLimit, a.Provider429+s.Provider429
	at := [2]string{s.Region, s.Model}
	if m.lanes[at] == nil {
		m.lanes[at] = &laneUse{}
	}
	l := m.lanes[at]
	l.calls, l.bad = l.calls+s.Calls, l.bad+s.Refused+s.Provider429
	if feature := " " + strings.ToLower(s.Feature); !strings.Contains(l.words, feature) {
		l.words += feature
	}
}
