package limiter

import (
	"context"
	"slices"
	"strings"
	"time"
)

// lua/breaker.lua and trip.lua.

// backMS is how far a clock was set back when a breaker's times come back with it.
const backMS = 5000

// broken gives a lane's breaker ("" is the project's) as it is at t; nil when it is
// closed.
func (m *Model) broken(lane string, t int64) *breaker {
	b := m.breakers[lane]
	if b != nil && b.since > t+backMS {
		back := b.since - t
		b.since, b.next, b.probeEnds = t, b.next-back, b.probeEnds-back
	}
	return b
}

// looking tells whether the look is under way.
func (m *Model) looking(b *breaker, t int64) bool {
	if b.probe == "" || t >= b.probeEnds {
		return false
	}
	n := m.lanes[m.scope.String()+"/"+b.probeLane]
	return n != nil && n.permits[b.probe] != nil
}

// tripped gives the reason, the moment to ask again and the detail of the breaker
// that closes the lane longest; half are those of which the next request is the look.
func (m *Model) tripped(lane string, t int64) (reason Reason, ends int64, detail string, half []*breaker) {
	for _, name := range []string{"", lane} {
		b := m.broken(name, t)
		if b == nil {
			continue
		}
		till := b.next
		if till <= t && m.looking(b, t) {
			till = t + 5000
		}
		if till > t && till > ends {
			reason, ends, detail = Reason(b.reason), till, b.detail
		}
		half = append(half, b)
	}
	if reason != "" {
		half = nil
	}
	return reason, ends, detail, half
}

// look notes that a permit is the look of all that is half open.
func look(half []*breaker, lane, id string, t, ends int64) {
	for _, b := range half {
		b.looks++
		b.probe, b.probeLane, b.probeEnds = id, lane, min(ends, t+probeLease.Milliseconds())
	}
}

// nextLook is when one call looks.
func (b *breaker) nextLook(t, before int64) {
	steps := unsureSteps
	if b.certain == 1 {
		steps = sureSteps
	}
	wait := min(steps[min(b.level, int64(len(steps)-1))], b.most)
	if b.certain == 1 && b.until > t {
		wait = max(60_000, min(3_600_000, (b.until-b.since)/10))
	}
	at := t + wait
	if b.until > t && at > b.until {
		at = b.until
	}
	b.next = max(at, min(before, t+86_400_000))
}

// another tells whether some other key worked lately.
func (m *Model) another(hash string, t int64) bool {
	for other, k := range m.keys {
		worked, refused := min(t, k[0]), min(t, k[1])
		if other != hash && worked > refused && t-worked <= keyFresh.Milliseconds() {
			return true
		}
	}
	return false
}

// Trip is Redis.Trip on the Model's clock.
func (m *Model) Trip(_ context.Context, x Trip) (BreakerState, error) {
	if err := x.check(m.scope); err != nil {
		return BreakerState{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.now.UnixMilli()
	if x.Key != "" {
		m.keys[x.Key] = [2]int64{min(t, m.keys[x.Key][0]), t}
		if m.another(x.Key, t) {
			return x.alone(), nil
		}
	}
	code := m.trip(x, t)
	s := m.breakerState(x.field(), t)
	s.Opened = code == tripOpened
	if e, ok := s.event(code); ok {
		m.note(e)
	}
	return s, nil
}

func (m *Model) trip(x Trip, t int64) int64 {
	until, certain, code := msOf(x.Until), flag(x.Certain), int64(tripOpened)
	if until <= t {
		until = 0
	}
	b := m.broken(x.field(), t)
	if b == nil {
		b = &breaker{since: t, reason: string(x.Reason)}
		m.breakers[x.field()] = b
	} else if code = b.again(x, until); code == tripIgnored {
		return code
	}
	if b.reason != string(x.Reason) {
		b.since = t
	}
	b.until, b.certain, b.probeEnds, b.most = until, certain, 0, x.longest()
	b.reason, b.probe, b.owner, b.lift, b.detail = string(x.Reason), "", oneLine(x.By), oneLine(x.Lift), oneLine(x.Detail)
	b.nextLook(t, msOf(x.NotBefore))
	return code
}

// again is what proof means for a breaker that is not closed.
func (b *breaker) again(x Trip, until int64) int64 {
	certain := flag(x.Certain)
	if x.Permit != "" && b.probe == x.Permit {
		if b.reason == string(x.Reason) && b.certain == certain {
			b.level++
			return tripAgain
		}
		b.level = 0
		return tripOpened
	}
	if certain > b.certain || certain == 1 && b.certain == 1 && b.reason != string(x.Reason) && b.until > 0 && (until == 0 || until > b.until) {
		b.level = 0
		return tripOpened
	}
	return tripIgnored
}

func (m *Model) breakerState(lane string, t int64) BreakerState {
	b := m.broken(lane, t)
	return b.state(m.scope, lane, t, m.looking(b, t))
}

// Probed is Redis.Probed on the Model's clock.
func (m *Model) Probed(_ context.Context, p *Permit) error {
	m.closeBreaker(p.Lane, p.Granted.UnixMilli(), "a call that looked")
	return nil
}

// CloseBreaker is Redis.CloseBreaker on the Model's clock.
func (m *Model) CloseBreaker(_ context.Context, l Lane, by string) error {
	m.closeBreaker(l, 0, by)
	return nil
}

func (m *Model) closeBreaker(l Lane, granted int64, by string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.now.UnixMilli()
	for _, lane := range []string{"", l.short()} {
		if b := m.broken(lane, t); b != nil && (granted == 0 || b.since <= granted) {
			m.shut(lane, t, by)
		}
	}
}

func (m *Model) shut(lane string, t int64, by string) {
	if e, ok := m.breakerState(lane, t).closed(by); ok {
		m.note(e)
	}
	delete(m.breakers, lane)
}

// LookAgain is Redis.LookAgain on the Model's clock.
func (m *Model) LookAgain(context.Context) ([]BreakerState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, out := m.now.UnixMilli(), []BreakerState(nil)
	for lane := range m.breakers {
		if b := m.broken(lane, t); b.next > t {
			b.next = t
			out = append(out, m.breakerState(lane, t))
		}
	}
	return byBreaker(out), nil
}

// KeyInUse is Redis.KeyInUse on the Model's clock.
func (m *Model) KeyInUse(_ context.Context, hash string, ago time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.now.UnixMilli()
	works, refused := min(t, m.keys[hash][0]), min(t, m.keys[hash][1])
	if ago >= 0 {
		works = max(works, t-ago.Milliseconds())
		m.keys[hash] = [2]int64{works, refused}
	}
	b := m.broken("", t)
	switch {
	case b == nil || b.reason != string(ReasonCredentials):
	case works > refused && t-works <= keyFresh.Milliseconds():
		m.shut("", t, "another key")
	case refused < b.since && works >= refused && b.next > t:
		b.next = t
	}
	return nil
}

// Breakers is Redis.Breakers on the Model's clock.
func (m *Model) Breakers(context.Context) ([]BreakerState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.breakersLocked(), nil
}

func (m *Model) breakersLocked() []BreakerState {
	out, t := []BreakerState(nil), m.now.UnixMilli()
	for lane := range m.breakers {
		out = append(out, m.breakerState(lane, t))
	}
	return byBreaker(out)
}

// byBreaker sorts: the project's first, then by lane.
func byBreaker(list []BreakerState) []BreakerState {
	slices.SortFunc(list, func(a, b BreakerState) int { return strings.Compare(a.Lane, b.Lane) })
	return list
}
