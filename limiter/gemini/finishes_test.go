package gemini

import (
	"slices"
	"testing"

	"google.golang.org/genai"
)

// TestFinishes is the list of the API's page, written down once more: each with
// its end, its retries and whether they are hotter.
func TestFinishes(t *testing.T) {
	want := map[FinishEnd][]string{
		FinishGood:    {"STOP"},
		FinishCut:     {"MAX_TOKENS"},
		FinishOpen:    {"", "FINISH_REASON_UNSPECIFIED", "CONTINUATION"},
		FinishBlocked: {"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"},
		FinishRefused: {"RECITATION", "IMAGE_RECITATION", "LANGUAGE"},
		FinishChance: {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_OTHER", "OTHER",
			"A_REASON_OF_THE_FUTURE"},
	}
	hotter := []string{"RECITATION", "IMAGE_RECITATION"}
	for end, reasons := range want {
		for _, reason := range reasons {
			f, retries := FinishOf(reason), 0
			switch {
			case end == FinishChance:
				retries = 2
			case slices.Contains(hotter, reason):
				retries = 1
			}
			if f.End != end || f.Retries != retries || f.Hotter != slices.Contains(hotter, reason) || f.Reason != reason {
				t.Errorf("%q: %+v, want end %s with %d retries", reason, f, end, retries)
			}
		}
	}
}

// TestFinishesOfTheSDK: whatever the SDK has a name for is in the table. Who
// upgrades it looks for new names here.
func TestFinishesOfTheSDK(t *testing.T) {
	for _, reason := range []genai.FinishReason{
		genai.FinishReasonUnspecified, genai.FinishReasonStop, genai.FinishReasonMaxTokens, genai.FinishReasonSafety, genai.FinishReasonRecitation,
		genai.FinishReasonLanguage, genai.FinishReasonOther, genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII,
		genai.FinishReasonMalformedFunctionCall, genai.FinishReasonImageSafety, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonNoImage, genai.FinishReasonImageRecitation, genai.FinishReasonImageOther, genai.FinishReasonContinuation,
	} {
		if _, known := finishes[string(reason)]; !known {
			t.Errorf("%s is not in the table", reason)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, reason := range []string{"SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", "SOMETHING_NEW"} {
		if f, is := BlockOf(reason); !is || !f.Final() || f.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, f, is)
		}
	}
	for _, reason := range []string{"", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"} {
		if f, is := BlockOf(reason); is {
			t.Errorf("%q blocks: %+v", reason, f)
		}
	}
}
