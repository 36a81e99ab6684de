package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// laneQuota is what bulk may use of a lane while nobody interactive is there:
// the figures behind every estimate of when a run will be done.
type laneQuota struct {
	lane    limiter.Lane
	model   string
	context int64
	limits  limiter.Limits
	share   float64 // of each limit that bulk may use
	most    int64   // the largest request that input_tpm can ever admit; 0: no limit
	today   int64   // requests of the Pacific day that are used already
}

// usedToday asks the shared state how much of the day is gone; where it does not
// know the lane yet, nothing is.
func (q *laneQuota) usedToday(ctx context.Context, lim *limiter.Redis) error {
	s, err := lim.State(ctx, q.lane)
	if errors.Is(err, limiter.ErrUnknownLane) {
		return nil
	}
	for _, l := range s.Limits { // as they are enforced now, whatever our file says
		switch l.Name {
		case "rpm":
			q.limits.RPM = l.Amount
		case "input_tpm":
			q.limits.InputTPM = l.Amount
		case "rpd":
			q.limits.RPD, q.today = l.Amount, l.Used
		}
	}
	return err
}

func (l *loaded) quotaOf(model string) (laneQuota, error) {
	lanes, err := l.laneMap()
	if err != nil {
		return laneQuota{}, err
	}
	lane, m, err := lanes.Lookup(model)
	if err != nil {
		return laneQuota{}, l.noLimits(model)
	}
	q := laneQuota{lane: lane, model: m.Name, context: m.Context, share: 1}
	conf := l.limiterConfig()
	for _, lc := range conf.Lanes {
		if lc.Lane == lane {
			q.limits = lc.Limits
			q.share -= float64(lc.OutsidePPM) / ppm
			q.share -= reserved(conf.Classes, lc.Lend)
		}
	}
	if len(q.limits.List()) == 0 {
		return laneQuota{}, l.noLimits(model)
	}
	q.most = int64(float64(q.limits.InputTPM) * q.share)
	return q, nil
}

// configure writes our limits for the whole project. A lane that we do not know
// keeps those it has while rows wait in it: they were enqueued with another
// configuration, and without limits nobody could serve them.
func (b *backend) configure(ctx context.Context) error {
	conf := b.conf.limiterConfig()
	stored, err := b.lim.Configured(ctx)
	if err != nil {
		return err
	}
	for _, lc := range stored.Lanes {
		if slices.ContainsFunc(conf.Lanes, func(own limiter.LaneConfig) bool { return own.Lane == lc.Lane }) {
			continue
		}
		open, err := b.openRows(ctx, lc.Lane.String(), "")
		if err != nil {
			return err
		}
		if open > 0 {
			conf.Lanes = append(conf.Lanes, lc)
		}
	}
	host, _ := os.Hostname()
	conf.By, conf.Source = fmt.Sprintf("%s pid %d", host, os.Getpid()), filepath.Base(orElse(b.conf.File, "configuration"))
	return b.lim.Configure(ctx, conf)
}

// reserved is the share that classes above bulk hold while they are idle.
func reserved(classes []limiter.Class, lend string) float64 {
	var sum float64
	for _, c := range classes {
		if c.Name == "bulk" {
			break
		}
		sum += float64(c.IdleFloorPPM(lend)) / ppm
	}
	return sum
}

// forecast is when an amount of work will be done, and what decides it.
type forecast struct {
	took  time.Duration
	limit string        // "rpm", "input_tpm", "rpd"; "" when no limit binds
	days  int           // Pacific resets on the way
	held  time.Duration // of took, what passes before any row may go
}

// forecast says how long rows with so many input tokens need at the lane's
// limits, with the whole of bulk's share and nobody else in line.
func (q laneQuota) forecast(rows, tokens int64, now time.Time) forecast {
	f := forecast{}
	slower := func(limit string, amount, perMinute int64) {
		if perMinute <= 0 || amount == 0 {
			return
		}
		// The first minute's room is there at once, spread by the smoothing.
		d := time.Duration(float64(amount) / (float64(perMinute) * q.share) * float64(time.Minute))
		if d > f.took {
			f.took, f.limit = d, limit
		}
	}
	slower("rpm", rows, q.limits.RPM)
	slower("input_tpm", tokens, q.limits.InputTPM)
	if q.limits.RPD > 0 {
		f.addDays(rows, int64(float64(q.limits.RPD)*q.share), q.today, now)
	}
	return f
}

// addDays counts the Pacific midnights that a day's limit makes the work wait
// for, with some of today's gone.
func (f *forecast) addDays(rows, perDay, today int64, now time.Time) {
	today = min(today, perDay)
	if perDay <= 0 || rows <= perDay-today {
		return
	}
	f.limit = "rpd"
	f.days = int((today + rows - 1) / perDay)
	end := now
	for range f.days {
		end = gemini.NextPacificMidnight(end)
	}
	last := f.took * time.Duration(today+rows-int64(f.days)*perDay) / time.Duration(rows)
	f.took = end.Sub(now) + last
}

// String says it in a sentence.
func (f forecast) sentence(now time.Time) string {
	if f.took < time.Second {
		return "no limit holds it up"
	}
	by := fmt.Sprintf("at the limits (%s binds)", f.limit)
	if f.limit == "" {
		by = "at the pace of the last minutes"
	}
	if f.limit == byFlex {
		by = "at the least (by flex)"
	}
	if f.held >= time.Minute { // limits are not what such a time is for
		before := "no row may go before " + clock(now.Add(f.held), now)
		if by = fmt.Sprintf("(%s; then %s %s)", before, ago(f.took-f.held), by); f.took-f.held < time.Second {
			by = "(" + before + ")"
		}
	}
	s := fmt.Sprintf("about %s %s, done by %s", ago(f.took), by, clock(now.Add(f.took), now))
	if f.days > 0 {
		s += fmt.Sprintf(", over %s at %s", plural(f.days, "Pacific reset"), gemini.NextPacificMidnight(now).Local().Format("15:04 MST"))
	}
	return strings.TrimSpace(s)
}
