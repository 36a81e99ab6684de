package gemini

import (
	"encoding/json"
	"strings"
)

// Usage is what the provider counted for one call (usageMetadata of
// https://ai.google.dev/api/generate-content#UsageMetadata). Prompt includes
// Cached; Candidates excludes Thoughts; tool results count as input.
type Usage struct {
	Prompt     int64 `json:"prompt"`
	Cached     int64 `json:"cached,omitempty"`
	Candidates int64 `json:"candidates"`
	Thoughts   int64 `json:"thoughts,omitempty"`
	ToolUse    int64 `json:"tool_use,omitempty"`
	Total      int64 `json:"total"`

	// Parts of the above that have prices of their own.
	PromptByModality Modalities `json:"prompt_by_modality,omitzero"`
	CachedByModality Modalities `json:"cached_by_modality,omitzero"`
	ImageOutput      int64      `json:"image_output,omitempty"` // part of Candidates

	Tier     string `json:"tier,omitempty"`     // "standard", "flex", "priority", "batch" or as the provider wrote it
	Mismatch bool   `json:"mismatch,omitempty"` // the parts do not add up to Total
}

// Modalities are input tokens that are not text.
type Modalities struct {
	Audio int64 `json:"audio,omitempty"`
	Image int64 `json:"image,omitempty"`
	Video int64 `json:"video,omitempty"`
}

// Input is what counts as input: the prompt and the results of tools.
func (u Usage) Input() int64 { return u.Prompt + u.ToolUse }

// Output is what is billed as output: the answer and the thinking.
func (u Usage) Output() int64 { return u.Candidates + u.Thoughts }

// wireUsage is usageMetadata as it is sent. Absent is not zero for the
// candidates: a reply may leave them out and still give a total.
type wireUsage struct {
	PromptTokenCount        int64
	CachedContentTokenCount int64
	CandidatesTokenCount    *int64
	ResponseTokenCount      *int64 // the Live API's and Vertex's name
	ThoughtsTokenCount      int64
	ToolUsePromptTokenCount int64
	TotalTokenCount         int64
	PromptTokensDetails     []wireModality
	CacheTokensDetails      []wireModality
	CandidatesTokensDetails []wireModality
	ServiceTier             string
	TrafficType             string
}

type wireModality struct {
	Modality   string
	TokenCount int64
}

// parseUsage reads usageMetadata; ok is false when it is not an object.
func parseUsage(raw []byte) (Usage, bool) {
	var w wireUsage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &w) != nil {
		return Usage{}, false
	}
	u := Usage{
		Prompt: w.PromptTokenCount, Cached: w.CachedContentTokenCount, Thoughts: w.ThoughtsTokenCount,
		ToolUse: w.ToolUsePromptTokenCount, Total: w.TotalTokenCount,
		PromptByModality: modalities(w.PromptTokensDetails), CachedByModality: modalities(w.CacheTokensDetails),
		ImageOutput: imageTokens(w.CandidatesTokensDetails), Tier: tierName(w.ServiceTier, w.TrafficType),
	}
	known := u.Prompt + u.ToolUse + u.Thoughts
	switch {
	case w.CandidatesTokenCount != nil:
		u.Candidates = *w.CandidatesTokenCount
	case w.ResponseTokenCount != nil:
		u.Candidates = *w.ResponseTokenCount
	default:
		u.Candidates = max(0, u.Total-known)
	}
	sum := known + u.Candidates
	u.Mismatch = u.Total != 0 && u.Total != sum
	u.Total = max(u.Total, sum)
	return u, true
}

func modalities(list []wireModality) (m Modalities) {
	for _, d := range list {
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

func imageTokens(list []wireModality) (n int64) {
	for _, d := range list {
		if strings.EqualFold(d.Modality, "IMAGE") {
			n += d.TokenCount
		}
	}
	return n
}

// tierName gives the tier that served: serviceTier where the API sends it, else
// Vertex's traffic type.
func tierName(tier, traffic string) string {
	tier = strings.TrimPrefix(strings.ToLower(tier), "service_tier_")
	if tier == "" && traffic != "" {
		tier = strings.TrimPrefix(strings.ToLower(traffic), "on_demand")
		tier = strings.TrimPrefix(tier, "_")
	}
	if tier == "unspecified" {
		return ""
	}
	return tier
}
