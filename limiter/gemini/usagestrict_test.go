package gemini

import (
	"strings"
	"testing"
)

func TestReadUsage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Usage
	}{
		"as sent": {`{"promptTokenCount":9,"candidatesTokenCount":2,"totalTokenCount":11}`, Usage{Prompt: 9, Candidates: 2, Total: 11}},
		"in snake case": {`{"prompt_token_count":9,"thoughts_token_count":2,"prompt_tokens_details":[{"modality":"VIDEO","token_count":4}],"service_tier":"flex"}`,
			Usage{Prompt: 9, Thoughts: 2, Total: 11, PromptByModality: Modalities{Video: 4}, Tier: "flex"}},
		"a whole answer":  {`{"candidates":[{"groundingMetadata":{"webSearchQueries":["a"]}}],"usageMetadata":{"promptTokenCount":9}}`, Usage{Prompt: 9, Total: 9, Searches: 1}},
		"the total alone": {`{"totalTokenCount":11}`, Usage{Candidates: 11, Total: 11}},
	} {
		if got, err := ReadUsage(strings.NewReader(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                          "empty; want usageMetadata",
		"[]":                        "want one JSON object",
		`{"promptTokenCount":5`:     "want one JSON object",
		`{"promptTokenCount":5}{}`:  "want one JSON object",
		`{}`:                        "usageMetadata: it counts no tokens",
		`{"usageMetadata":null}`:    "usageMetadata: want an object of counts",
		`{"usageMetadata":{"a":1}}`: "usageMetadata.a: unknown; known are promptTokenCount,",
		`{"promptTokenCount":-5}`:   "usageMetadata.promptTokenCount: -5; want a number",
		`{"promptTokenCount":1e3}`:  "usageMetadata.promptTokenCount: 1e3; want a number",
		`{"promptTokenCount":5.5}`:  "usageMetadata.promptTokenCount: 5.5; want a number",
		`{"serviceTier":5}`:         "usageMetadata.serviceTier: 5; want a name in quotes",
		`{"cacheTokensDetails":{}}`: "usageMetadata.cacheTokensDetails: want a list such as",
		`{"cacheTokensDetails":[{"modality":"AUDIO","tokens":5}]}`:      "usageMetadata.cacheTokensDetails: tokens: unknown",
		`{"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":-5}]}`: "usageMetadata.cacheTokensDetails: -5; want a number",
	} {
		if u, err := ReadUsage(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, u, err, want)
		}
	}
}
