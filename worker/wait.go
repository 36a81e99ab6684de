package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"

	"github.com/hibiken/asynq"
)

// waitError puts a task back without blame: it is no failure and no attempt.
// Its text is what asynqmon shows as the task's last error.
type waitError struct {
	text  string
	after time.Duration
}

func (e *waitError) Error() string { return e.text }

// retryError puts a task back after a real failure, which counts.
type retryError struct {
	text  string
	after time.Duration
}

func (e *retryError) Error() string { return e.text }

// waitFor is the error for a row that comes back after d because of why.
func waitFor(why string, d time.Duration, now time.Time) *waitError {
	return &waitError{text: waitText(why, now.Add(d), now), after: d}
}

// waitText is what people read about a waiting row. The time is local; a date
// is added when it is not within a day.
func waitText(why string, until, now time.Time) string {
	return fmt.Sprintf("%s until %s (not a failure)", why, clock(until, now))
}

func clock(t, now time.Time) string {
	if t.Sub(now) > 20*time.Hour {
		return t.Local().Format("2006-01-02 15:04 MST")
	}
	return t.Local().Format("15:04:05 MST")
}

// waitReasons says in an operator's words what each refusal waits for.
var waitReasons = map[limiter.Reason]string{
	limiter.ReasonQuota:       "waiting for quota",
	limiter.ReasonShare:       "waiting for quota (held for a class above)",
	limiter.ReasonSmoothing:   "waiting for quota",
	limiter.ReasonTurn:        "waiting for quota (others are before it)",
	limiter.ReasonSlots:       "waiting for quota", // only asked for in a lane that is short of it: see slots.short
	limiter.ReasonPaused:      "paused",
	limiter.ReasonCooldown:    "resting as the provider asked",
	limiter.ReasonBreaker:     "waiting until calls can succeed again",
	limiter.ReasonSpend:       "waiting for budget",
	limiter.ReasonCredentials: "waiting for a working API key",
	limiter.ReasonUnknownLane: "waiting for limits of this model in the configuration",
	limiter.ReasonNoPrice:     "waiting for the price of this model in spend.prices",
	limiter.ReasonUnavailable: "waiting for Redis",
	limiter.ReasonDeadline:    "waiting for a call with enough time",
	limiter.ReasonProvider:    "waiting for the provider's quota",
}

// saidByProvider are the refusals whose detail is what the provider said.
var saidByProvider = []limiter.Reason{limiter.ReasonCooldown, limiter.ReasonBreaker, limiter.ReasonSpend, limiter.ReasonCredentials}

// deniedText is waitReasons' words with the refusal's own detail.
func deniedText(d *limiter.Denied) string {
	why := waitReasons[d.Reason]
	switch {
	case why == "":
		why = "waiting (" + string(d.Reason) + ")"
	case d.Reason == limiter.ReasonShare && d.Detail != "": // a throttle or a cap
		why = "waiting for quota (" + d.Detail + ")"
	case d.Reason == limiter.ReasonQuota && d.Limiter != "":
		why += " (" + d.Limiter + ")"
	case d.Reason == limiter.ReasonSpend && d.Limiter != "":
		why += " (" + d.Limiter + " of " + whoseLimit(d) + ")"
	case d.Detail != "" && d.Reason == limiter.ReasonPaused:
		why = pausedText(d.Detail)
	case d.Detail != "" && slices.Contains(saidByProvider, d.Reason):
		why += " (" + d.Detail + ")"
	}
	return why
}

// pausedText says who paused: of "operator by ann: new prompt" it makes "paused
// by operator (ann: new prompt)".
func pausedText(detail string) string {
	at := strings.IndexAny(detail, " :")
	if at < 0 {
		return "paused by " + detail
	}
	rest := strings.TrimPrefix(strings.TrimLeft(detail[at:], ": "), "by ")
	return "paused by " + detail[:at] + " (" + rest + ")"
}

// retryDelay is asynq's question "when again?". asynq keeps whole seconds and
// may wake a task up to a second early (rdb.go, Retry: processAt.Unix()), so a
// wait is asked for a second longer.
func retryDelay(n int, err error, _ *asynq.Task) time.Duration {
	var wait *waitError
	var retry *retryError
	switch {
	case errors.As(err, &wait):
		return wait.after + time.Second
	case errors.As(err, &retry):
		return retry.after
	case errors.Is(err, asynq.ErrLeaseExpired):
		return 0 // a minute or more has gone by already
	}
	return backoff(n)
}

// isFailure is asynq's question "does it count?". A lost lease does, so that a
// row that kills its worker stops some time; asynqmon's Cancel does not.
func isFailure(err error) bool {
	var wait *waitError
	return err != nil && !errors.As(err, &wait) && !errors.Is(err, context.Canceled)
}

// maxBackoff bounds the pause between two attempts of one row.
const maxBackoff = 30 * time.Second

// backoff is the pause after the n-th failure, from 0: min(2ⁿ s + jitter, 30 s).
func backoff(n int) time.Duration { return backoffAt(n, rand.Float64()) }

// backoffAt is backoff with a jitter from 0 to 1, of which 1 is half of the pause.
func backoffAt(n int, jitter float64) time.Duration {
	d := time.Second << min(max(n, 0), 5)
	return min(d+time.Duration(jitter*float64(d/2)), maxBackoff)
}

// whoseLimit names the node of the limit that binds; of a lane its model.
func whoseLimit(d *limiter.Denied) string {
	if d.Node == "" || d.Node == "lane" {
		return d.Model
	}
	return d.Node
}
