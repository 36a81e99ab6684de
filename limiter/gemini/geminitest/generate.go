package geminitest

import (
	"math"
	"strings"
	"time"
)

// said is one candidate before it is written.
type said struct {
	text   string
	call   *functionCall // instead of a text; nil: none
	tokens int64
	finish string
}

// generate makes the answer of generateContent and of streamGenerateContent.
func (v *visit) generate() *reply {
	g, p := v.q.generate, v.q.prompts[0]
	most := v.model.OutputTokens
	if asked := g.GenerationConfig.MaxOutputTokens; asked > 0 {
		most = min(most, asked)
	}
	thoughts := min(v.thoughts(), most)
	if v.has(FaultMaxTokens) {
		thoughts = most
	}
	all := make([]said, max(g.GenerationConfig.CandidateCount, 1))
	u := usage{prompt: p.total(), cached: v.cached, thoughts: thoughts, tier: v.call.Tier}
	for i := range all {
		all[i] = v.say(i, most-thoughts)
		u.output += all[i].tokens
	}
	r := v.write(all, u)
	r.usage, r.billed = u, true
	base, perToken := v.latency()
	r.first = base + time.Duration(u.output+u.thoughts)*perToken
	if r.chunks != nil {
		pieces := int64(len(r.chunks))
		r.gap = time.Duration(u.output/pieces) * perToken
		r.first -= time.Duration(pieces-1) * r.gap
	}
	return r
}

func (v *visit) has(kind FaultKind) bool { return v.fault != nil && v.fault.Kind == kind }

// thoughts gives the tokens that the model thinks, by level and budget.
func (v *visit) thoughts() int64 {
	median := float64(v.model.ThinkingTokens)
	if median == 0 {
		return 0
	}
	c := v.q.generate.GenerationConfig.ThinkingConfig
	if c == nil {
		c = &thinkingConfig{}
	}
	switch strings.ToLower(c.ThinkingLevel) {
	case "minimal":
		median /= 8
	case "low":
		median /= 3
	case "high":
		median *= 2
	}
	const sigma = 0.4
	rng := v.s.random(int64(v.q.prompts[0].digest), saltThoughts)
	n := int64(math.Round(median * math.Exp(sigma*rng.NormFloat64())))
	if c.ThinkingBudget != nil && *c.ThinkingBudget >= 0 { // -1: as the model likes
		n = min(n, *c.ThinkingBudget)
	}
	return n
}

// say makes the text of a candidate within a number of tokens.
func (v *visit) say(index int, room int64) said {
	switch {
	case v.has(FaultSafety):
		return said{finish: "SAFETY"}
	case v.has(FaultRecitation):
		return said{finish: "RECITATION"}
	case v.has(FaultProhibited):
		return said{finish: "PROHIBITED_CONTENT"}
	case v.has(FaultNoText):
		return said{finish: "STOP"}
	}
	a := v.author(index)
	if d := v.q.generate.called(a.prompt); d != nil {
		return v.sayCall(a, d, room)
	}
	text := a.answer()
	for _, stop := range v.q.generate.GenerationConfig.StopSequences {
		text, _, _ = strings.Cut(text, stop)
	}
	if v.has(FaultBadJSON) {
		text = text[:len(text)/2]
	}
	if n := countText(text); n <= room {
		return said{text: text, tokens: n, finish: "STOP"}
	}
	return said{text: cutText(text, room), tokens: room, finish: "MAX_TOKENS"}
}

// write puts the candidates into one body, or into the chunks of a stream.
func (v *visit) write(all []said, u usage) *reply {
	if v.q.method == methodStream {
		return v.stream(all, u)
	}
	resp := v.envelope(u)
	if reason := v.blocked(); reason != "" {
		resp.PromptFeedback = &promptFeedback{reason, ratings(reason)}
		return okReply(resp)
	}
	for i, a := range all {
		resp.Candidates = append(resp.Candidates, v.candidate(i, a, true))
	}
	return okReply(resp)
}

// blocked gives the reason when the prompt itself is refused.
func (v *visit) blocked() string {
	switch {
	case v.has(FaultSafetyPrompt):
		return "SAFETY"
	case v.has(FaultProhibitedPrompt):
		return "PROHIBITED_CONTENT"
	}
	return ""
}

func (v *visit) envelope(u usage) generateResponse {
	m := &usageMetadata{
		PromptTokenCount: u.prompt, CandidatesTokenCount: u.output, ThoughtsTokenCount: u.thoughts,
		TotalTokenCount: u.prompt + u.output + u.thoughts, CachedContentTokenCount: u.cached,
		PromptTokensDetails: v.q.prompts[0].details(), ServiceTier: u.tier,
	}
	if u.cached > 0 {
		m.CacheTokensDetails = []modalityCount{{modalityNames[modText], u.cached}}
	}
	return generateResponse{UsageMetadata: m, ModelVersion: v.model.Name, ResponseID: v.responseID()}
}

// responseID looks like Gemini's and depends on the seed and the call.
func (v *visit) responseID() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	var id [22]byte
	n := (v.s.cfg.Seed+1)*fnvPrime ^ uint64(v.call.Seq)*0x9E3779B97F4A7C15
	for i := range id {
		n ^= n >> 29
		n *= 0xBF58476D1CE4E5B9
		id[i] = letters[n>>58]
	}
	return string(id[:])
}

// candidate writes what was said, or a piece of it. The first piece carries the
// thoughts when they were asked for.
func (v *visit) candidate(index int, a said, first bool) candidate {
	c := candidate{Index: index, FinishReason: a.finish}
	if v.has(FaultNoFinish) {
		c.FinishReason = ""
	}
	if think := v.q.generate.GenerationConfig.ThinkingConfig; first && think != nil && think.IncludeThoughts && v.model.ThinkingTokens > 0 {
		summary := "**Reading the request**\n\nI look at what is asked and at what must not be left out.\n"
		c.Content.Parts = append(c.Content.Parts, part{Text: &summary, Thought: true})
	}
	if a.text != "" {
		c.Content.Parts = append(c.Content.Parts, part{Text: &a.text})
	}
	if a.call != nil {
		c.Content.Parts = append(c.Content.Parts, v.callPart(a.call))
	}
	if c.Content.Parts != nil {
		c.Content.Role = "model"
	}
	if a.finish == "SAFETY" {
		c.SafetyRatings = ratings(a.finish)
	}
	return c
}

func ratings(reason string) []safetyRating {
	if reason != "SAFETY" {
		return nil
	}
	return []safetyRating{{"HARM_CATEGORY_DANGEROUS_CONTENT", "HIGH", true}, {"HARM_CATEGORY_HARASSMENT", "NEGLIGIBLE", false}}
}
