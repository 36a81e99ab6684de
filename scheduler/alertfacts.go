package scheduler

import (
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// AlertFacts are what alerts are judged by, as it is at one moment.
type AlertFacts struct {
	At      time.Time
	Classes []limiter.Class
	Lately  []gemini.UsageSample // of the last AlertRules.Over
	// Usual is the input of a request of late days, by UsualKey; what is not known well
	// is not there.
	Usual     map[string]float64
	Lanes     []limiter.LaneState
	Pauses    []limiter.Pause
	Throttles []limiter.Throttle
	Breakers  []limiter.BreakerState
	Caps      []CapOutlook
	Bypass    []BypassEstimate
	Queues    map[string]int64 // rows that have not ended, by class
	Idle      []IdleLane       // that have rows and no worker
	// Past are the Queues of the last AlertRules.QueueOver, one a minute, oldest first.
	Past []QueueMoment
}

// QueueMoment is how many rows had not ended at a moment, by class.
type QueueMoment struct {
	At   time.Time        `json:"at"`
	Rows map[string]int64 `json:"rows"`
}

// IdleLane has rows that could be worked on now, and nobody who does.
type IdleLane struct {
	Lane string
	Rows int64
	Runs []string // some of them, as people call them
}

// UsualKey tells apart what has its own usual size.
func UsualKey(s gemini.UsageSample) string { return s.Model + "|" + s.Class + "|" + s.Feature }

// waitedFor says that people wait for the calls of a class.
func (f AlertFacts) waitedFor(class string) bool {
	for _, c := range f.Classes {
		if c.Name == class {
			return !c.Pausable
		}
	}
	return false
}
