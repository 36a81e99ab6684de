package gemini

import "strings"

// reasonNoModel is the verdict's reason for a model that the provider does not have.
const reasonNoModel = "model_not_found"

// wrongMethod tells a model that is asked for what it does not do from one that is not
// there: Gemini answers both with the same 404 ("is not found for API version v1beta, or
// is not supported for embedContent"). The first is about that call, and must not close
// the model for everybody. Models that embed say so in their names.
func (r route) wrongMethod(v Verdict) bool {
	return v.Reason == reasonNoModel && r.model != "" && embeds(r.model) != r.embedding()
}

// embedding holds for the methods of models that embed.
func (r route) embedding() bool {
	return r.method == "embedContent" || r.method == "batchEmbedContents" || r.method == "predict"
}

// embeds holds for a model that embeds, by its name.
func embeds(model string) bool { return strings.Contains(model, "embedding") }
