package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// way is one change with which a run makes its deadline, by the same forecast.
type way struct {
	What string    `json:"what"` // "raise rpm to 310"
	Do   string    `json:"do,omitempty"`
	Done time.Time `json:"done"`
}

// ways are the changes that would make the deadline, each on its own.
func (p prospect) ways(deadline time.Time, model string) (out []way) {
	for _, try := range []func(time.Time, string) (way, bool){p.raised, p.opened, p.widened, p.favoured, p.cut} {
		if w, ok := try(deadline, model); ok {
			out = append(out, w)
		}
	}
	return out
}

// by says whether it is done in time.
func (p prospect) by(deadline time.Time) (time.Time, bool) {
	f, known := p.end()
	end := p.now.Add(f.took)
	return end, known && !end.After(deadline)
}

// mostRaise bounds by how much a limit is raised in a suggestion.
const mostRaise = 20.0

// raised raises the limits that bind, one after the other until it helps.
func (p prospect) raised(deadline time.Time, model string) (way, bool) {
	var names []string
	for range 3 {
		f, known := p.times(names, mostRaise).end()
		if known && len(names) > 0 && !p.now.Add(f.took).After(deadline) {
			return p.leastRaise(names, deadline, model)
		}
		if !known || f.limit == "" || slices.Contains(names, f.limit) || strings.Contains(f.limit, " of ") {
			return way{}, false
		}
		names = append(names, f.limit)
	}
	return way{}, false
}

// leastRaise finds the smallest factor that does, and says it in round limits. It
// leaves a little time over: the plan is looked at again once the limits are set.
func (p prospect) leastRaise(names []string, deadline time.Time, model string) (way, bool) {
	low, high := 1.0, mostRaise
	until := deadline.Add(-max(10*time.Second, deadline.Sub(p.now)/100))
	for high/low > 1.005 {
		mid := math.Sqrt(low * high)
		if _, ok := p.times(names, mid).by(until); ok {
			high = mid
		} else {
			low = mid
		}
	}
	var words, sets []string
	q := p
	for _, l := range p.lane.Limits {
		if slices.Contains(names, l.Name) {
			to := roundUp2(float64(l.Amount) * high)
			q = q.times([]string{l.Name}, float64(to)/float64(l.Amount))
			words = append(words, l.Name+" to "+amount(l.Unit, to))
			sets = append(sets, l.Name+"="+settable(l.Unit, to))
		}
	}
	end, ok := q.by(deadline)
	return way{What: "raise " + strings.Join(words, " and "), Do: "nightshift quota set " + model + " " + strings.Join(sets, " "), Done: end}, ok && len(words) > 0
}

// settable is an amount as quota set takes it: money in dollars.
func settable(u limiter.Unit, n int64) string {
	if u == limiter.MicroUSD {
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64)
	}
	return strconv.FormatInt(n, 10)
}

// times is the same with limits of the lane that are so many times as large, and with
// them the classes' parts of them; what is used stays.
func (p prospect) times(names []string, factor float64) prospect {
	p.lane.Limits = slices.Clone(p.lane.Limits)
	for i, l := range p.lane.Limits {
		if slices.Contains(names, l.Name) {
			grown := func(n int64) int64 { return int64(float64(n) * factor) }
			x := &p.lane.Limits[i]
			x.Amount, x.Effective, x.Classes = grown(l.Amount), grown(l.Effective), slices.Clone(l.Classes)
			for j, c := range l.Classes {
				x.Classes[j].Protected, x.Classes[j].Cap = grown(c.Protected), grown(c.Cap)
			}
		}
	}
	p.pace = 0 // it was that of the limits as they are
	return p
}

// roundUp2 keeps two digits, rounded up.
func roundUp2(v float64) int64 {
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(v))-1))
	return int64(math.Ceil(v/step-1e-9) * step)
}

// early opens a timetable some time before it does.
type early struct {
	gates    []gate
	from, to time.Time
}

func (e early) RateAt(t time.Time) (scheduler.Rate, time.Time) {
	if !t.Before(e.from) && t.Before(e.to) {
		rate, _ := atAll(e.gates, e.to)
		return rate, e.to
	}
	rate, until := atAll(e.gates, t)
	if t.Before(e.from) && (until.IsZero() || until.After(e.from)) {
		until = e.from
	}
	return rate, until
}

// atAll is what several timetables leave together.
func atAll(gates []gate, t time.Time) (least scheduler.Rate, next time.Time) {
	least.PPM = ppm
	for _, g := range gates {
		rate, until := g.RateAt(t)
		least.PPM = min(least.PPM, rate.PPM)
		if n := rate.PerMinute; n > 0 && (least.PerMinute == 0 || n < least.PerMinute) {
			least.PerMinute = n
		}
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return least, next
}

// faster compares rates of the same timetables.
func faster(a, b scheduler.Rate) bool {
	fixed := func(r scheduler.Rate) int64 {
		if r.PerMinute == 0 {
			return math.MaxInt64
		}
		return r.PerMinute
	}
	return a.PPM > b.PPM || a.PPM == b.PPM && fixed(a) > fixed(b)
}

// opens is when timetables leave more than they do now, before the deadline; zero
// where they do not.
func opens(gates []gate, now, deadline time.Time) time.Time {
	rate, at := atAll(gates, now)
	for !at.IsZero() && at.Before(deadline) {
		more, next := atAll(gates, at)
		if faster(more, rate) {
			return at
		}
		at = next
	}
	return time.Time{}
}

// opened begins a window earlier.
func (p prospect) opened(deadline time.Time, _ string) (way, bool) {
	gates, rising := windowsOf(p.runs[0].gates)
	at := opens(gates, p.now, deadline)
	if at.IsZero() {
		return way{}, false
	}
	ahead := func(minutes int) prospect {
		runs := slices.Clone(p.runs)
		runs[0].gates = append([]gate{early{gates, at.Add(-time.Duration(minutes) * time.Minute), at}}, rising...)
		p.runs = runs
		return p
	}
	most := int(at.Sub(p.now).Minutes())
	if _, ok := ahead(most).by(deadline); !ok {
		return way{}, false
	}
	low, high := 0, most
	for high-low > 1 {
		mid := (low + high) / 2
		if _, ok := ahead(mid).by(deadline); ok {
			high = mid
		} else {
			low = mid
		}
	}
	end, _ := ahead(high).by(deadline)
	earlier := time.Duration(high) * time.Minute
	return way{What: fmt.Sprintf("open the window %s earlier, at %s", ago(earlier), at.Add(-earlier).Local().Format("15:04 MST")), Done: end}, true
}

// favoured gives the run more weight beside the others of its lane.
func (p prospect) favoured(deadline time.Time, _ string) (way, bool) {
	if len(p.runs) < 2 {
		return way{}, false
	}
	for _, weight := range []float64{2, 4, 8, 16} {
		runs := slices.Clone(p.runs)
		runs[0].weight *= weight
		q := p
		q.runs = runs
		if end, ok := q.by(deadline); ok {
			return way{What: fmt.Sprintf("--weight %.0f beside the other runs", weight), Done: end}, true
		}
	}
	return way{}, false
}

// cut leaves the rows that do not fit for another time.
func (p prospect) cut(deadline time.Time, _ string) (way, bool) {
	rows := p.runs[0].rows
	fit, end := p.rowsBy(deadline)
	if fit == 0 {
		return way{}, false
	}
	return way{What: fmt.Sprintf("split the input: %s of the %s rows are done by then", humanize.Comma(fit), humanize.Comma(rows)), Done: end}, true
}

// rowsBy is how many of the run's rows are done by a time, about, and when these are.
func (p prospect) rowsBy(at time.Time) (rows int64, done time.Time) {
	all := p.runs[0].rows
	ending := func(n int64) (time.Time, bool) {
		runs := slices.Clone(p.runs)
		runs[0].rows = n
		q := p
		q.runs = runs
		return q.by(at)
	}
	if end, ok := ending(all); ok {
		return all, end
	}
	low, high := int64(0), all
	for high-low > max(1, all/1000) {
		mid := (low + high) / 2
		if _, ok := ending(mid); ok {
			low = mid
		} else {
			high = mid
		}
	}
	if low == 0 {
		return 0, at
	}
	end, _ := ending(low)
	return low, end
}

// capRoom is what a money limit of the day, of the month, for good or of the run
// leaves, where the rows may cost more.
type capRoom struct {
	name string
	room int64
	day  bool // it leaves something again the next day
}

// short are the caps that do not leave what the rows may cost.
func (p prospect) short(cost int64) (out []capRoom) {
	limits := slices.Clone(p.lane.Limits)
	for _, n := range p.runs[0].nodes {
		for _, l := range n.Limits {
			l.Name += " of " + n.Node
			limits = append(limits, l)
		}
	}
	for _, l := range limits {
		if l.Unit != limiter.MicroUSD || l.Window == limiter.TenMinutes || l.Shadow {
			continue
		}
		if room := max(0, l.Effective-l.Used); room < cost {
			out = append(out, capRoom{l.Name, room, l.Window == limiter.Day})
		}
	}
	return out
}
