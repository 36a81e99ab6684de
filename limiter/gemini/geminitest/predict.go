package geminitest

// predict of Vertex AI's embedding models
// (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).

type predictRequest struct {
	Instances []struct {
		Content  string `json:"content"`
		TaskType string `json:"task_type"`
		Title    string `json:"title"`
	} `json:"instances"`
	Parameters struct {
		AutoTruncate         *bool `json:"autoTruncate"`
		OutputDimensionality int   `json:"outputDimensionality"`
	} `json:"parameters"`
}

// embeds are the same texts as batchEmbedContents has them.
func (p predictRequest) embeds() []embedRequest {
	out := make([]embedRequest, len(p.Instances))
	for i, one := range p.Instances {
		out[i] = embedRequest{Content: content{Parts: []part{{Text: &one.Content}}}, Title: one.Title, OutputDimensionality: p.Parameters.OutputDimensionality}
	}
	return out
}

type prediction struct {
	Embeddings struct {
		Values     []float32 `json:"values"`
		Statistics struct {
			TokenCount int64 `json:"token_count"`
			Truncated  bool  `json:"truncated"`
		} `json:"statistics"`
	} `json:"embeddings"`
}

func (q *request) predictions(list []embedding) map[string][]prediction {
	out := make([]prediction, len(list))
	for i, e := range list {
		out[i].Embeddings.Values = e.Values
		out[i].Embeddings.Statistics.TokenCount = q.prompts[i].total()
	}
	return map[string][]prediction{"predictions": out}
}
