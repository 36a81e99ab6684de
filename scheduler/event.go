package scheduler

// Kinds of events (limiter.Event.Kind).
const (
	eventPause    = "pause"
	eventResume   = "resume"
	eventThrottle = "throttle"
	eventHealth   = "health"
	eventAlert    = "alert"
	eventLease    = "lease"
)
