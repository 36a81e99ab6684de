package gemini

import "strings"

// FinishEnd is what the way in which a generation ended means for who asked.
type FinishEnd string

// The ends. All of them are answers with status 200, and billed.
const (
	FinishGood    FinishEnd = "good"
	FinishCut     FinishEnd = "cut"     // the output cap was reached: the beginning is there
	FinishOpen    FinishEnd = "open"    // it does not end: the stream broke off, or the model wants to go on
	FinishBlocked FinishEnd = "blocked" // the content was refused
	FinishRefused FinishEnd = "refused" // the model will not answer this
	FinishChance  FinishEnd = "chance"  // it comes from sampling: another try may do better
)

// Finish is one finishReason, or blockReason of the prompt, with what follows.
type Finish struct {
	Reason string // as the API spells it; "" is a finishReason that never came
	End    FinishEnd
	// Retries is how often asking again is worth its price; each is billed. After
	// that the row fails with the reason kept. The other ends retry nothing, or by
	// rules of their own (a larger cap, the rest of an answer).
	Retries int
	Hotter  bool // ask again with a higher temperature: the same one ends the same way
}

// Final says that the same request ends the same way.
func (f Finish) Final() bool {
	return f.End == FinishBlocked || f.End == FinishRefused || f.End == FinishCut
}

// How often an end that is chance is asked for again: the API's advice is one or
// two retries, and after two bad ones in a row a third good one is rare.
const chanceRetries = 2

// finishes are the values of finishReason
// (https://ai.google.dev/api/generate-content#FinishReason and the SDK's enum).
// One that is not here is of the future, and taken for chance.
var finishes = map[string]Finish{
	"":                          {End: FinishOpen},
	"FINISH_REASON_UNSPECIFIED": {End: FinishOpen},
	"CONTINUATION":              {End: FinishOpen},
	"STOP":                      {End: FinishGood},
	"MAX_TOKENS":                {End: FinishCut},
	"SAFETY":                    {End: FinishBlocked},
	"PROHIBITED_CONTENT":        {End: FinishBlocked},
	"BLOCKLIST":                 {End: FinishBlocked},
	"SPII":                      {End: FinishBlocked},
	"IMAGE_SAFETY":              {End: FinishBlocked},
	"IMAGE_PROHIBITED_CONTENT":  {End: FinishBlocked},
	"RECITATION":                {End: FinishRefused, Retries: 1, Hotter: true},
	"IMAGE_RECITATION":          {End: FinishRefused, Retries: 1, Hotter: true},
	"LANGUAGE":                  {End: FinishRefused},
	"MALFORMED_FUNCTION_CALL":   {End: FinishChance, Retries: chanceRetries},
	"UNEXPECTED_TOOL_CALL":      {End: FinishChance, Retries: chanceRetries},
	"TOO_MANY_TOOL_CALLS":       {End: FinishChance, Retries: chanceRetries},
	"NO_IMAGE":                  {End: FinishChance, Retries: chanceRetries},
	"IMAGE_OTHER":               {End: FinishChance, Retries: chanceRetries},
	"OTHER":                     {End: FinishChance, Retries: chanceRetries},
}

// FinishOf says what a finishReason means. What nobody knows yet is asked again
// as often as chance is, and then fails under its own name.
func FinishOf(reason string) Finish {
	f, known := finishes[reason]
	if !known {
		f = Finish{End: FinishChance, Retries: chanceRetries}
	}
	f.Reason = reason
	return f
}

// BlockOf says what a blockReason of the prompt means: any of them, known or not,
// is final. False is for those that only say that nothing was blocked.
func BlockOf(reason string) (Finish, bool) {
	if reason == "" || strings.HasSuffix(reason, "_UNSPECIFIED") {
		return Finish{}, false
	}
	return Finish{Reason: reason, End: FinishBlocked}, true
}
