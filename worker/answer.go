package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter/gemini"

	"google.golang.org/genai"
)

// emptyAttempts is how often a row is tried whose answers come and are empty: some
// of that is chance, and each further attempt is paid for.
const emptyAttempts = 3

// readGenerated judges a 200 answer of generateContent. All of these are billed.
// What a finish reason means stands in the one table of gemini.FinishOf.
func readGenerated(resp *genai.GenerateContentResponse) outcome {
	if resp == nil {
		return bad("empty", "the answer has no body", emptyAttempts)
	}
	if f := resp.PromptFeedback; f != nil {
		if block, is := gemini.BlockOf(string(f.BlockReason)); is {
			return ended(jobs.Blocked, strings.ToLower(block.Reason), blockMessage("the prompt was blocked", block.Reason, f.BlockReasonMessage))
		}
	}
	c := firstCandidate(resp)
	if c == nil {
		return bad("empty", "the answer has no candidates", emptyAttempts)
	}
	text := answerText(c)
	calls := functionCalls(c)
	if text == "" {
		text = string(calls)
	}
	out := readFinish(c, text, thoughts(resp))
	out.parsed, out.output, out.finish, out.model, out.token = calls, text, string(c.FinishReason), resp.ModelVersion, c.ContinuationToken
	return out
}

// readFinish decides by how generation ended.
func readFinish(c *genai.Candidate, text string, thoughts int32) outcome {
	f := gemini.FinishOf(string(c.FinishReason))
	reason := strings.ToLower(f.Reason)
	switch f.End {
	case gemini.FinishGood:
		if text == "" {
			return bad("empty", "the model ended without an answer (finish reason STOP)", emptyAttempts)
		}
		return outcome{end: jobs.Done}
	case gemini.FinishCut:
		cause, message := truncation(text, thoughts)
		return ended(jobs.Truncated, cause, message)
	case gemini.FinishBlocked:
		return ended(jobs.Blocked, reason, blockMessage("the answer was blocked", f.Reason, c.FinishMessage))
	case gemini.FinishRefused:
		return ended(jobs.Failed, reason, blockMessage("the model refused to go on", f.Reason, c.FinishMessage))
	case gemini.FinishOpen:
		return bad(causeIncomplete, openMessage(f.Reason), 0)
	}
	return bad(reason, blockMessage("no usable answer", f.Reason, c.FinishMessage), f.Retries+1)
}

func openMessage(reason string) string {
	if reason == "CONTINUATION" {
		return "the model wants to go on (CONTINUATION), and its answer does not say from where"
	}
	return "the answer ends without a finish reason"
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

// functionCalls is what the model asks of a line's own tools, in place of a text or
// beside one: {"functionCalls": [{"name", "args"}]}; nil where it asks nothing.
func functionCalls(c *genai.Candidate) []byte {
	if c.Content == nil {
		return nil
	}
	var calls []*genai.FunctionCall
	for _, p := range c.Content.Parts {
		if p != nil && !p.Thought && p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
	}
	if calls == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]any{"functionCalls": calls}) != nil {
		return nil // what came as JSON can be written as JSON
	}
	return bytes.TrimSpace(b.Bytes())
}

func thoughts(resp *genai.GenerateContentResponse) int32 {
	if resp.UsageMetadata == nil {
		return 0
	}
	return resp.UsageMetadata.ThoughtsTokenCount
}

// causeThinking is an answer that was cut before it began.
const (
	causeMaxTokens = "max_tokens"
	causeThinking  = "truncated_by_thinking"
)

// truncation tells an answer that is too long from one that never began: they are
// mended in different ways.
func truncation(text string, thoughts int32) (cause, message string) {
	if text == "" && thoughts > 0 {
		return causeThinking, fmt.Sprintf("truncated by thinking: all of the output limit went into %d thought tokens; raise max_output_tokens or lower thinking_budget", thoughts)
	}
	return causeMaxTokens, "the answer reached max_output_tokens; its beginning is kept"
}

func blockMessage(what, reason, detail string) string {
	if detail != "" {
		return what + " (" + reason + "): " + detail
	}
	return what + " (" + reason + ")"
}

// readEmbedded judges a 200 answer of an embedding call for one text.
func readEmbedded(resp *genai.EmbedContentResponse) outcome {
	if resp == nil || len(resp.Embeddings) == 0 || resp.Embeddings[0] == nil || len(resp.Embeddings[0].Values) == 0 {
		return bad("empty", "the answer has no embedding", emptyAttempts)
	}
	return outcome{end: jobs.Done, answer: answer{embedding: resp.Embeddings[0].Values}}
}
