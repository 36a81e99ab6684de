package gemini

import (
	"encoding/json"
	"strings"
)

// wireUsage is usageMetadata as it is sent. Absent is not zero for the prompt and
// the candidates: a reply may leave them out and still give a total.
type wireUsage struct {
	PromptTokenCount           *int64
	CachedContentTokenCount    int64
	CandidatesTokenCount       *int64
	ResponseTokenCount         *int64 // the Live API's and Vertex's name
	ThoughtsTokenCount         int64
	ToolUsePromptTokenCount    int64
	TotalTokenCount            int64
	PromptTokensDetails        []wireModality
	CacheTokensDetails         []wireModality
	CandidatesTokensDetails    []wireModality
	ResponseTokensDetails      []wireModality
	ToolUsePromptTokensDetails []wireModality
	ServiceTier                string
	TrafficType                string
}

type wireModality struct {
	Modality   string
	TokenCount int64
}

// mostTokens is more than any call can have: a larger count is no count.
const mostTokens = 1_000_000_000_000

// parseUsage reads usageMetadata; ok is false when it is not an object, when it
// counts nothing, and when a count is impossible: then the estimate stands.
func parseUsage(raw []byte) (Usage, bool) {
	var w wireUsage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &w) != nil || !w.possible() {
		return Usage{}, false
	}
	u := w.usage()
	return u, u.Total > 0
}

func (w wireUsage) usage() Usage {
	u := Usage{
		Cached: w.CachedContentTokenCount, Thoughts: w.ThoughtsTokenCount,
		ToolUse: w.ToolUsePromptTokenCount, Total: w.TotalTokenCount,
		PromptByModality: modalities(w.PromptTokensDetails), CachedByModality: modalities(w.CacheTokensDetails),
		ToolUseByModality: modalities(w.ToolUsePromptTokensDetails),
		OutputByModality:  modalities(append(w.CandidatesTokensDetails, w.ResponseTokensDetails...)),
		Tier:              tierName(w.ServiceTier, w.TrafficType),
	}
	u.Prompt, u.Candidates = w.bothEnds(u.ToolUse + u.Thoughts)
	sum := u.Prompt + u.ToolUse + u.Thoughts + u.Candidates
	u.Mismatch = u.Total != 0 && u.Total != sum
	u.Total = max(u.Total, sum)
	return u
}

// bothEnds are the prompt and the candidates. What the total has beyond the counts
// that are there belongs to the one that was left out, and to the candidates, the
// dearer of the two, when both were.
func (w wireUsage) bothEnds(others int64) (prompt, candidates int64) {
	out := w.CandidatesTokenCount
	if out == nil {
		out = w.ResponseTokenCount
	}
	known := others + given(w.PromptTokenCount) + given(out)
	switch rest := max(0, w.TotalTokenCount-known); {
	case out == nil:
		return given(w.PromptTokenCount), rest
	case w.PromptTokenCount == nil:
		return rest, given(out)
	}
	return given(w.PromptTokenCount), given(out)
}

func given(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func (w wireUsage) possible() bool {
	for _, n := range []int64{
		given(w.PromptTokenCount), given(w.CandidatesTokenCount), given(w.ResponseTokenCount), w.CachedContentTokenCount,
		w.ThoughtsTokenCount, w.ToolUsePromptTokenCount, w.TotalTokenCount,
	} {
		if n < 0 || n > mostTokens {
			return false
		}
	}
	return true
}

func modalities(list []wireModality) (m Modalities) {
	for _, d := range list {
		if d.TokenCount < 0 || d.TokenCount > mostTokens {
			continue
		}
		switch strings.ToUpper(d.Modality) {
		case "AUDIO":
			m.Audio += d.TokenCount
		case "IMAGE", "DOCUMENT":
			m.Image += d.TokenCount
		case "VIDEO":
			m.Video += d.TokenCount
		}
	}
	return m
}

// mismatch says once a minute that the provider's counts do not add up: what is not
// in the parts may be missing from the cost.
func (t *Transport) mismatch(o *Observation, u Usage) {
	if n, due := t.odd.note(t.cfg.Now()); due {
		t.log.Warn("the provider's token counts do not add up: the parts are charged", "lane", o.Lane.String(), "trace_id", o.TraceID,
			"total", u.Total, "parts", u.Prompt+u.ToolUse+u.Thoughts+u.Candidates, "calls", n)
	}
}

// tierName gives the tier that served: serviceTier where the API sends it, else
// Vertex's traffic type.
func tierName(tier, traffic string) string {
	tier = strings.TrimPrefix(strings.ToLower(tier), "service_tier_")
	if tier == "" && traffic != "" {
		tier = strings.TrimPrefix(strings.ToLower(traffic), "on_demand")
		tier = strings.TrimPrefix(tier, "_")
	}
	if strings.HasSuffix(tier, "unspecified") {
		return ""
	}
	return tier
}
