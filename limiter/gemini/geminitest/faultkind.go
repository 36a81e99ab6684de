package geminitest

import (
	"maps"
	"slices"
)

// FaultKind names a fault.
type FaultKind string

// The kinds. Those of the first group refuse a call before it counts against
// any quota; the others have counted, as failed calls do at Gemini.
const (
	Fault429RPM       FaultKind = "429-rpm"
	Fault429TPM       FaultKind = "429-tpm"
	Fault429RPD       FaultKind = "429-rpd"
	Fault429Mixed     FaultKind = "429-mixed" // the day's and the minute's requests
	Fault429Spend     FaultKind = "429-spend" // the ten-minute spend rate
	Fault429Month     FaultKind = "429-month"
	Fault429Account   FaultKind = "429-account"
	Fault429Capacity  FaultKind = "429-capacity"
	Fault429LimitZero FaultKind = "429-limit0"
	Fault429Unknown   FaultKind = "429-unknown"
	Fault402          FaultKind = "402" // prepaid credits are used up
	Fault403Disabled  FaultKind = "403-disabled"
	Fault403Suspended FaultKind = "403-suspended"
	Fault403Leaked    FaultKind = "403-leaked"
	Fault403Denied    FaultKind = "403-denied"
	Fault400Location  FaultKind = "400-location"
	FaultRevokeKey    FaultKind = "revoke-key" // the key of the call is bad from here on; comes once

	Fault500         FaultKind = "500"
	Fault502         FaultKind = "502" // an HTML page of the front end
	Fault503         FaultKind = "503"
	Fault504         FaultKind = "504"
	FaultHang        FaultKind = "hang"  // no answer until the client goes
	FaultReset       FaultKind = "reset" // the connection, before an answer
	FaultCut         FaultKind = "cut"   // the connection, inside the answer
	FaultHTML        FaultKind = "html"  // status 200
	FaultEmpty       FaultKind = "empty" // status 200, no body
	FaultError200    FaultKind = "error-200"
	FaultCutJSON     FaultKind = "cut-json"     // status 200, half a body
	FaultStreamError FaultKind = "stream-error" // an error event in a stream; in a unary answer the same as error-200
	FaultNoFinish    FaultKind = "no-finish"    // the answer ends without a finishReason
	FaultSlow        FaultKind = "slow"         // ten times the time
	FaultAnswer      FaultKind = "answer"       // Fault.Answer; in Go only

	FaultSafety           FaultKind = "safety" // finishReason, without a text
	FaultRecitation       FaultKind = "recitation"
	FaultProhibited       FaultKind = "prohibited"
	FaultSafetyPrompt     FaultKind = "safety-prompt" // promptFeedback, without a candidate
	FaultProhibitedPrompt FaultKind = "prohibited-prompt"
	FaultNoText           FaultKind = "no-text"    // STOP, without a text
	FaultMaxTokens        FaultKind = "max-tokens" // all went into thoughts
	FaultBadJSON          FaultKind = "bad-json"   // STOP, but the text is cut
)

// stage is where in a call a fault takes effect.
type stage int

const (
	stageRefuse  stage = iota + 1 // before the quotas
	stageAnswer                   // instead of the answer
	stageContent                  // in what the model says: generate methods only
)

var stages = func() map[FaultKind]stage {
	m := map[FaultKind]stage{}
	for kind := range refusals {
		m[kind] = stageRefuse
	}
	m[FaultRevokeKey] = stageRefuse
	for _, kind := range []FaultKind{Fault500, Fault502, Fault503, Fault504, FaultHang, FaultReset, FaultCut, FaultHTML,
		FaultEmpty, FaultError200, FaultCutJSON, FaultSlow, FaultAnswer} {
		m[kind] = stageAnswer
	}
	for _, kind := range []FaultKind{FaultStreamError, FaultNoFinish, FaultSafety, FaultRecitation, FaultProhibited,
		FaultSafetyPrompt, FaultProhibitedPrompt, FaultNoText, FaultMaxTokens, FaultBadJSON} {
		m[kind] = stageContent
	}
	return m
}()

// FaultKinds gives every kind, sorted.
func FaultKinds() []FaultKind { return slices.Sorted(maps.Keys(stages)) }
