package scheduler

import (
	"time"

	"nightshift/limiter"
)

// want is what a state asks for a class: closed, a share, or neither.
type want struct {
	closed bool
	share  share
}

// share is how much of each limit a class may use: from one value to another
// over a time, or constant (to) when the times are zero. The zero share is none.
type share struct {
	from, to int64 // ppm
	begin    time.Time
	end      time.Time
}

func (s State) wants(r Rules, c limiter.Class) want {
	r = r.orDefault()
	least := max(c.GuaranteePPM, r.RampPPM)
	switch s.Phase {
	case Yield:
		return want{share: share{to: least}}
	case Paused:
		return want{closed: true}
	case Trickle:
		return want{share: share{to: r.TricklePPM}}
	case Ramping:
		return want{share: s.rampShare(r, least)}
	}
	return want{}
}

// rampShare moves while the last look was good and stands still while it was bad.
func (s State) rampShare(r Rules, from int64) share {
	if s.Bad > 0 {
		return share{to: from + int64(float64(million-from)*float64(s.Ramped)/float64(max(r.Ramp, 1)))}
	}
	begin := s.Looked.Add(-s.Ramped)
	return share{from: from, to: million, begin: begin, end: begin.Add(r.Ramp)}
}
