package limiter

import (
	"fmt"
	"time"
)

// FeedbackKind is what the provider's answer says about our limits.
type FeedbackKind string

// The kinds of feedback.
const (
	// RejectedAfterAdmit: the provider refused for a minute's quota what we had
	// admitted. Something else uses the quota, or it is lower than configured.
	RejectedAfterAdmit FeedbackKind = "rejected_after_admit"
	// Capacity: the provider has not enough machines now (503, a 429 that names no
	// quota). Fewer calls at once is what helps, not fewer a minute.
	Capacity FeedbackKind = "capacity"
)

// Feedback is one answer of the provider that was about more than its call.
type Feedback struct {
	Lane       Lane
	Kind       FeedbackKind
	Limit      string // of RejectedAfterAdmit: the limit that the provider names, by shorthand; "" when it names none
	QuotaValue int64  // what the provider says that limit is; 0 when it does not
	Shared     string // the model of another lane, where the provider counts this lane's calls against that one's quota
}

func (f Feedback) check() error {
	if f.Kind != RejectedAfterAdmit && f.Kind != Capacity {
		return wrong("feedback.kind", "%q; want %q or %q", f.Kind, RejectedAfterAdmit, Capacity)
	}
	if f.QuotaValue < 0 {
		return wrong("feedback.quota_value", "%d; want 0 or more", f.QuotaValue)
	}
	return nil
}

// What feedback does to a lane (design 4.5): a limit is lowered by a tenth of
// itself, once for all refusals of ten seconds, never below half, and comes back
// by a hundredth of itself a minute; calls at once fall to 0.7 of those in flight (never below four),
// once a second, and rise by one in each second in which they were the limit,
// until nothing was heard for ten minutes.
const (
	lowerByPPM    = 100_000
	lowerMostPPM  = 500_000
	lowerEvery    = 10_000 // ms
	creepMS       = 6      // ms for one ppm: 10,000 ppm a minute
	ceilingPPM    = 700_000
	ceilingEvery  = 1000    // ms
	ceilingForget = 600_000 // ms
)

// Lowering is how far feedback keeps a limit below what is configured.
type Lowering struct {
	PPM   int64     `json:"ppm"`   // of the configured limit, taken off
	Until time.Time `json:"until"` // when all of it is back, if nothing is refused meanwhile
}

// String is for people: "lowered by 12 % until " and an Instant.
func (l Lowering) String() string {
	return fmt.Sprintf("lowered by %s until %s", Share(l.PPM), Instant(l.Until))
}
