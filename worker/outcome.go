package worker

import (
	"cmp"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// causeIncomplete is an answer that came without its end.
const causeIncomplete = "incomplete"

// outcome is what becomes of a row after one look at it: it ends, it waits, it
// fails for now (fail without end), or it is dropped.
type outcome struct {
	end   jobs.State     // a terminal state: the row has ended, with answer or error below
	wait  time.Duration  // > 0: it comes back, nothing is counted
	why   string         // wait: for what, in waitText's words
	cause jobs.WaitCause // wait: the same in one of a few words, to be added up
	until time.Time      // wait: what people read of when it ends; zero: when the row comes back
	alarm string         // wait: what an operator has to mend, said once a minute for all rows
	key   bool           // wait: for a working API key
	fail  *jobs.RowError // a real failure; also the error of a bad end
	limit int            // fail: at most so many attempts for this cause; 0: the run's
	lane  bool           // fail: it may be the lane's trouble and not the row's
	// dropped: the call was aborted by a person; the row itself is not to blame.
	dropped bool
	again   bool // one more call is worth it, whatever the end says: see further
	answer
}

// answer is what a call brought.
type answer struct {
	output    string
	raw       string // as it came, where output is not that
	parsed    []byte
	embedding []float32
	finish    string
	model     string
	token     []byte // from where the model would go on
	usage     *jobs.Usage
}

// judge is what a failed call means for its row, by the table of what follows from a
// verdict. Only what is the row's own fault, or may be, costs it an attempt:
// throttling and everything that meets the whole lane or project waits, however long
// it takes, because 10,000 rows must not fail for one revoked key.
func judge(next gemini.Consequence, v gemini.Verdict, status int, message string) outcome {
	fail := rowError(v, status, message)
	switch next.Job.Action {
	case gemini.JobFails:
		return outcome{end: jobs.Failed, fail: fail}
	case gemini.JobWaits:
		out := outcome{wait: next.Job.Wait, why: next.Job.Why, cause: verdictWaits(v), key: v.Credential}
		if next.Job.Alarm {
			out.alarm = v.Reason
		}
		return out
	}
	return outcome{fail: fail, lane: next.Job.Lane}
}

// lineUp is when a row comes back that met what closes its lane for long: to stand in
// line as all others do, and go on with them as soon as the lane is open.
const lineUp = 15 * time.Second

// closes holds for what lets nothing of the lane start for a while.
func closes(next gemini.Consequence) bool { return next.Lane.Breaker != "" || next.Lane.Rest > 0 }

// standInLine bounds the wait of a row whose lane is closed; people read when it opens.
func (o *outcome) standInLine(next gemini.Consequence, now time.Time) {
	if closes(next) && o.wait > time.Minute {
		o.until, o.wait = now.Add(o.wait), lineUp
	}
}

// operatorWait is how often a row is looked at that waits for an operator.
const operatorWait = time.Minute

// rowError names the cause by the verdict's stable reason.
func rowError(v gemini.Verdict, status int, message string) *jobs.RowError {
	cause := cmp.Or(v.Reason, "provider_error")
	if v.Reason == "" && status > 0 {
		cause = "http_" + strconv.Itoa(status)
	}
	return &jobs.RowError{Cause: cause, Status: status, Message: short(message)}
}

// refused is what a refusal of our own gate means for the row.
func refused(d *limiter.Denied) outcome {
	switch {
	case d.Reason == limiter.ReasonUnknownLane, d.Reason == limiter.ReasonNoPrice:
		return outcome{wait: operatorWait, why: waitReasons[d.Reason], cause: deniedWaits(d), alarm: d.Error()}
	case d.Permanent && d.Money():
		return outcome{wait: operatorWait, why: waitReasons[limiter.ReasonSpend] + " (a row may cost more than " + d.Limiter + " of " + whoseLimit(d) + " allows)", cause: jobs.WaitSpend, alarm: d.Error()}
	case d.Permanent:
		return outcome{end: jobs.Failed, fail: &jobs.RowError{Cause: string(d.Reason), Message: d.Error()}}
	}
	return outcome{wait: max(d.RetryAfter(), time.Millisecond), why: deniedText(d), cause: deniedWaits(d), key: d.Reason == limiter.ReasonCredentials}
}

// bad is a failure of the answer itself, not of the call.
func bad(cause, message string, limit int) outcome {
	return outcome{fail: &jobs.RowError{Cause: cause, Status: 200, Message: short(message)}, limit: limit}
}

// ended is an answer that no further attempt would better.
func ended(s jobs.State, cause, message string) outcome {
	return outcome{end: s, fail: &jobs.RowError{Cause: cause, Status: 200, Message: short(message)}}
}

// short cuts a message to what a table or a log line can hold, between runes.
func short(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	for i := range s {
		if i > most-3 {
			return s[:i] + "…"
		}
	}
	return s
}
