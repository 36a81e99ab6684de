package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"nightshift/limiter/gemini"
)

// person is somebody who calls and waits.
type person struct {
	at     time.Duration // since the start
	from   *Traffic
	input  int64
	output int64
}

// clockOf reads a time of day, "08:30", as the time since midnight.
func clockOf(text string) (time.Duration, error) {
	t, err := time.Parse("15:04", text)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

const day = 24 * time.Hour

// sinceMidnight is what the clock on the wall shows.
func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
}

// rate is how many a minute come at a moment; of a week that is learned, unseen spikes are
// left out.
func (a Arrivals) rate(t time.Time, learned bool) float64 {
	at := sinceMidnight(t)
	sum := a.RPM + a.ofDay(at)
	for _, k := range a.Spikes {
		if k.holds(at) && (!learned || !k.Unseen) {
			sum += k.RPM
		}
	}
	return sum
}

// ofDay is on the line between the times of day before and after.
func (a Arrivals) ofDay(at time.Duration) float64 {
	if len(a.Hours) == 0 {
		return 0
	}
	type point struct {
		at  time.Duration
		rpm float64
	}
	points := make([]point, 0, len(a.Hours)+2)
	for text, rpm := range a.Hours {
		c, _ := clockOf(text) // checked
		points = append(points, point{c, rpm})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	first, last := points[0], points[len(points)-1]
	points = append(points, point{first.at + day, first.rpm})
	before := point{last.at - day, last.rpm}
	for _, p := range points {
		if at < p.at {
			part := float64(at-before.at) / float64(max(1, p.at-before.at))
			return before.rpm + (p.rpm-before.rpm)*part
		}
		before = p
	}
	return before.rpm
}

func (k Spike) holds(at time.Duration) bool {
	from, _ := clockOf(k.From) // checked
	since := (at - from + day) % day
	if k.Every == 0 {
		return since < k.For
	}
	until, _ := clockOf(k.Until)
	return since < (until-from+day)%day && since%k.Every < k.For
}

// most bounds the rate.
func (a Arrivals) most() float64 {
	sum := a.RPM
	hours := 0.0
	for _, n := range a.Hours {
		hours = max(hours, n)
	}
	for _, k := range a.Spikes {
		sum += k.RPM
	}
	return sum + hours
}

// step is how finely arrivals follow their rate.
const step = time.Second

// people are those who come, by time. Each kind of traffic has its own chance, so that one
// can be changed without the others.
func (s *Scenario) people() []person {
	var all []person
	for i := range s.Traffic {
		t := &s.Traffic[i]
		all = append(all, t.Arrivals.recorded...)
		rng := s.random(uint64(i) + 1)
		due := 0.0
		for at := time.Duration(0); at < s.Duration; at += step {
			mean := t.Arrivals.rate(s.start.Add(at).In(s.zone), false) * step.Minutes()
			n := 0
			if t.Arrivals.Even {
				due += mean
				n = int(due)
				due -= float64(n)
			} else {
				n = poissonLarge(rng, mean)
			}
			for range n {
				all = append(all, person{at + time.Duration(rng.Int64N(int64(step))), t, t.Input.draw(rng), t.Output.draw(rng)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b person) int { return int(a.at - b.at) })
	return all
}

// random gives numbers that depend on the seed and a purpose alone.
func (s *Scenario) random(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, purpose)) }

func poisson(rng *rand.Rand, mean float64) (n int) {
	for p, end := rng.Float64(), math.Exp(-mean); p > end; n++ {
		p *= rng.Float64()
	}
	return n
}

func (t Tokens) draw(rng *rand.Rand) int64 {
	n := t.Median
	if t.Sigma > 0 {
		n = max(1, int64(min(float64(n)*math.Exp(t.Sigma*rng.NormFloat64()), mostTokens)))
	}
	if t.Most > 0 {
		n = min(n, t.Most)
	}
	return n
}

// mean is the mean of what draw gives, Most left aside.
func (t Tokens) mean() float64 { return float64(t.Median) * math.Exp(t.Sigma*t.Sigma/2) }

// learned is what was counted in the week before the start: the same traffic, day by day,
// by chances of its own.
func (s *Scenario) learned() (minutes []gemini.UsageSample, until time.Time) {
	until = s.start.Truncate(time.Hour)
	for i := range s.Traffic {
		t := &s.Traffic[i]
		rng := s.random(uint64(i) + 1001)
		for at := until.AddDate(0, 0, -8); at.Before(until); at = at.Add(time.Minute) {
			var mean float64
			for sub := time.Duration(0); sub < time.Minute; sub += 10 * time.Second {
				mean += t.Arrivals.rate(at.Add(sub).In(s.zone), true) / 6
			}
			n := int64(poissonLarge(rng, mean))
			minutes = append(minutes, gemini.UsageSample{At: at, Region: lane.Region, Model: lane.Model, Class: t.Class, Calls: n, Sent: n, Good: n, Requests: n,
				InputTokens: int64(float64(n) * t.Input.mean()), OutputTokens: int64(float64(n) * t.Output.mean())})
		}
	}
	return minutes, until
}

// poissonLarge is poisson for means of any size.
func poissonLarge(rng *rand.Rand, mean float64) int {
	if mean < 500 {
		return poisson(rng, mean)
	}
	return max(0, int(mean+math.Sqrt(mean)*rng.NormFloat64()))
}
