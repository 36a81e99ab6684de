package gemini

import (
	"net/http"
	"time"
)

// Reasons of verdicts about an answer with HTTP status 200.
const (
	ReasonEmptyBody   = "empty_body"   // no byte came
	ReasonNotJSON     = "not_json"     // HTML or other text
	ReasonCut         = "cut"          // the answer or the stream ends in its middle, or without a finishReason
	ReasonBlocked     = "blocked"      // the prompt was refused; Evidence has the blockReason
	ReasonFinish      = "finish"       // a finishReason that is final: SAFETY, RECITATION, …; Evidence has it
	ReasonFinishRetry = "finish_retry" // a finishReason that comes from sampling: another try may do better
	ReasonMaxTokens   = "max_tokens"   // the output cap was reached: what is there is not all
	ReasonNoAnswer    = "no_answer"    // finished, with nothing in it
)

// judgeAnswer says what is wrong with an answer that came with status 200, or
// nil. What was blocked or cut short is billed, and no success.
func judgeAnswer(a *answer, r route, h http.Header, now time.Time) *Verdict {
	if a.failure != nil {
		v := Classify(Answer{Status: http.StatusOK, Header: h, Body: a.failure}, now)
		return &v
	}
	if v := incomplete(a); v != nil {
		return v
	}
	if !r.rule.tokens || a.embedded {
		return nil
	}
	return finishVerdict(a)
}

// incomplete finds what no API answer looks like.
func incomplete(a *answer) *Verdict {
	switch {
	case a.first == 0:
		return passing(ReasonEmptyBody, "status 200 with an empty body")
	case a.first != '{' && a.first != '[':
		return passing(ReasonNotJSON, "status 200 with a body that is not JSON")
	case a.cut || a.scan.state != scanDone:
		return passing(ReasonCut, "the JSON ends in its middle")
	case a.objects == 0:
		return passing(ReasonEmptyBody, "status 200 with an empty list")
	}
	return nil
}

// passing is a fault of the way or the back end that another try may not meet.
func passing(reason, evidence string) *Verdict {
	return &Verdict{Kind: Backoff, Scope: ScopeModel, Reason: reason, Evidence: []string{clip(Redact(evidence), mostEvidence)}}
}

func forJob(kind Kind, reason, evidence string) *Verdict {
	return &Verdict{Kind: kind, Scope: ScopeJob, Reason: reason, Evidence: []string{clip(Redact(evidence), mostEvidence)}}
}

// finishVerdict reads blockReason and finishReason by what they mean for a row
// (see finishes).
func finishVerdict(a *answer) *Verdict {
	if block, is := BlockOf(a.blocked); is {
		return forJob(Permanent, ReasonBlocked, "blockReason "+block.Reason)
	}
	evidence := "finishReason " + a.finish
	switch FinishOf(a.finish).End {
	case FinishGood:
		if !a.visible {
			return forJob(Backoff, ReasonNoAnswer, evidence+" without any part")
		}
		return nil
	case FinishOpen:
		if a.finish == "" {
			evidence = "no finishReason"
		}
		return forJob(Backoff, ReasonCut, evidence+": the answer is truncated")
	case FinishCut:
		return forJob(Permanent, ReasonMaxTokens, evidence+": the same settings end the same way")
	case FinishBlocked, FinishRefused:
		return forJob(Permanent, ReasonFinish, evidence)
	}
	return forJob(Backoff, ReasonFinishRetry, evidence)
}
