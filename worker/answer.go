package worker

import (
	"fmt"
	"strings"

	"nightshift/jobs"

	"google.golang.org/genai"
)

// How often an answer that came but cannot be used is asked for again: some are
// chance, and each further attempt is paid for.
const (
	emptyAttempts  = 3
	sampleAttempts = 3
)

// readGenerated judges a 200 answer of generateContent. All of these are billed.
// The actions follow the API's own page on finish reasons
// (ai.google.dev/api/generate-content#FinishReason).
func readGenerated(resp *genai.GenerateContentResponse) outcome {
	if resp == nil {
		return bad("empty", "the answer has no body", emptyAttempts)
	}
	if f := resp.PromptFeedback; f != nil && f.BlockReason != "" {
		return ended(jobs.Blocked, lower(f.BlockReason), blockMessage("the prompt was blocked", string(f.BlockReason), f.BlockReasonMessage))
	}
	c := firstCandidate(resp)
	if c == nil {
		return bad("empty", "the answer has no candidates", emptyAttempts)
	}
	text := answerText(c)
	out := readFinish(c, text, thoughts(resp))
	out.output, out.finish, out.model = text, string(c.FinishReason), resp.ModelVersion
	return out
}

// readFinish decides by how generation ended.
func readFinish(c *genai.Candidate, text string, thoughts int32) outcome {
	reason := lower(c.FinishReason)
	switch c.FinishReason {
	case genai.FinishReasonStop:
		if text == "" {
			return bad("empty", "the model ended without an answer (finish reason STOP)", emptyAttempts)
		}
		return outcome{end: jobs.Done}
	case genai.FinishReasonMaxTokens:
		return ended(jobs.Truncated, reason, maxTokensMessage(text, thoughts))
	case genai.FinishReasonSafety, genai.FinishReasonProhibitedContent, genai.FinishReasonBlocklist, genai.FinishReasonSPII,
		genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent:
		return ended(jobs.Blocked, reason, blockMessage("the answer was blocked", string(c.FinishReason), c.FinishMessage))
	case genai.FinishReasonRecitation, genai.FinishReasonImageRecitation, genai.FinishReasonLanguage:
		return ended(jobs.Failed, reason, blockMessage("the model refused to go on", string(c.FinishReason), c.FinishMessage))
	case "", genai.FinishReasonUnspecified:
		return bad(causeIncomplete, "the answer ends without a finish reason", 0)
	default: // malformed calls, OTHER and what the future brings: chance, mostly
		return bad(reason, blockMessage("no usable answer", string(c.FinishReason), c.FinishMessage), sampleAttempts)
	}
}

// firstCandidate is the candidate of the lowest index: the list need not be in
// order, and an absent index is 0.
func firstCandidate(resp *genai.GenerateContentResponse) *genai.Candidate {
	var first *genai.Candidate
	for _, c := range resp.Candidates {
		if c != nil && (first == nil || c.Index < first.Index) {
			first = c
		}
	}
	return first
}

// answerText joins the text parts that are not thoughts.
func answerText(c *genai.Candidate) string {
	if c.Content == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range c.Content.Parts {
		if p != nil && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func thoughts(resp *genai.GenerateContentResponse) int32 {
	if resp.UsageMetadata == nil {
		return 0
	}
	return resp.UsageMetadata.ThoughtsTokenCount
}

func maxTokensMessage(text string, thoughts int32) string {
	if text == "" && thoughts > 0 {
		return fmt.Sprintf("truncated by thinking: all of the output limit went into %d thought tokens; raise max_output_tokens or lower thinking_budget", thoughts)
	}
	return "the answer reached max_output_tokens; its beginning is kept"
}

func blockMessage(what, reason, detail string) string {
	if detail != "" {
		return what + " (" + reason + "): " + detail
	}
	return what + " (" + reason + ")"
}

func lower[T ~string](s T) string { return strings.ToLower(string(s)) }

// readEmbedded judges a 200 answer of an embedding call for one text.
func readEmbedded(resp *genai.EmbedContentResponse) outcome {
	if resp == nil || len(resp.Embeddings) == 0 || resp.Embeddings[0] == nil || len(resp.Embeddings[0].Values) == 0 {
		return bad("empty", "the answer has no embedding", emptyAttempts)
	}
	return outcome{end: jobs.Done, answer: answer{embedding: resp.Embeddings[0].Values}}
}
