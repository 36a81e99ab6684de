package gemini

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
	PromptByModality  Modalities `json:"prompt_by_modality,omitzero"`
	CachedByModality  Modalities `json:"cached_by_modality,omitzero"`
	ToolUseByModality Modalities `json:"tool_use_by_modality,omitzero"`
	OutputByModality  Modalities `json:"output_by_modality,omitzero"` // of Candidates

	// Searches are the queries of grounding with Google Search; the answer's
	// groundingMetadata has them, usageMetadata does not.
	Searches int64 `json:"searches,omitempty"`

	Tier     string `json:"tier,omitempty"`     // "standard", "flex", "priority", "batch" or as the provider wrote it
	Mismatch bool   `json:"mismatch,omitempty"` // the parts do not add up to Total
}

// Modalities are tokens that are not text, or prices of such.
type Modalities struct {
	Audio int64 `json:"audio,omitempty"`
	Image int64 `json:"image,omitempty"` // pages of documents, too
	Video int64 `json:"video,omitempty"`
}

// Input is what counts as input: the prompt and the results of tools.
func (u Usage) Input() int64 { return u.Prompt + u.ToolUse }

// Output is what is billed as output: the answer and the thinking.
func (u Usage) Output() int64 { return u.Candidates + u.Thoughts }
