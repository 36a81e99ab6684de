package geminitest

import "time"

// lane is what one bucket of quotas has used. The server's mu guards it.
type lane struct {
	requests, tokens, day meter
	priority              meter // requests of the priority tier, which has 0.3 of RPM
	inFlight, peak        int64
	admitted, sent        series // what was let in, and everything that came
}

// need is what a call asks of its lane.
type need struct{ requests, tokens int64 }

func newLane(c Counting) *lane {
	return &lane{
		requests: newMeter[c](time.Minute), tokens: newMeter[c](time.Minute),
		day: &fixedMeter{next: nextDay}, priority: newMeter[c](time.Minute),
	}
}

// check gives every limit that the call does not fit into.
func (l *lane) check(now time.Time, lim Limits, n need) []violation {
	var vs []violation
	for _, q := range []struct {
		reason   string
		m        meter
		limit, n int64
	}{
		{ReasonRPD, l.day, lim.RPD, n.requests},
		{ReasonRPM, l.requests, lim.RPM, n.requests},
		{ReasonInputTPM, l.tokens, lim.InputTPM, n.tokens},
	} {
		if q.limit == 0 || q.n == 0 {
			continue
		}
		if q.limit < 0 {
			vs = append(vs, violation{reason: q.reason})
		} else if q.m.used(now, q.limit)+q.n > q.limit {
			fits := min(q.n, q.limit) // more than the limit never fits, but Gemini gives a time all the same
			vs = append(vs, violation{q.reason, q.limit, q.m.free(now, q.limit, fits).Sub(now)})
		}
	}
	return vs
}

// take charges the call to every limit there is.
func (l *lane) take(now time.Time, lim Limits, n need) {
	if lim.RPD > 0 {
		l.day.take(now, lim.RPD, n.requests)
	}
	if lim.RPM > 0 {
		l.requests.take(now, lim.RPM, n.requests)
	}
	if lim.InputTPM > 0 {
		l.tokens.take(now, lim.InputTPM, n.tokens)
	}
}

// full says that as many calls run as the model allows.
func (l *lane) full(lim Limits) bool {
	return lim.Concurrency != 0 && l.inFlight >= max(lim.Concurrency, 0)
}

func (l *lane) enter() {
	l.inFlight++
	l.peak = max(l.peak, l.inFlight)
}
