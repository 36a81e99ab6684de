package gemini

import "testing"

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		raw                  string
		input, output, total int64
		mismatch             bool
		tier                 string
	}{
		"thinking is beside the answer": {`{"promptTokenCount":8,"candidatesTokenCount":12,"thoughtsTokenCount":918,"totalTokenCount":938}`, 8, 930, 938, false, ""},
		"tools are input":               {`{"promptTokenCount":500,"candidatesTokenCount":120,"toolUsePromptTokenCount":300,"thoughtsTokenCount":10,"totalTokenCount":930}`, 800, 130, 930, false, ""},
		"candidates from the total":     {`{"promptTokenCount":500,"toolUsePromptTokenCount":300,"thoughtsTokenCount":10,"totalTokenCount":930}`, 800, 130, 930, false, ""},
		"all thought, no answer":        {`{"promptTokenCount":1706,"thoughtsTokenCount":2999,"totalTokenCount":4705}`, 1706, 2999, 4705, false, ""},
		"candidates zero":               {`{"promptTokenCount":5,"candidatesTokenCount":0,"totalTokenCount":9}`, 5, 0, 9, true, ""},
		"no total":                      {`{"promptTokenCount":5,"candidatesTokenCount":2}`, 5, 2, 7, false, ""},
		"prompt alone":                  {`{"promptTokenCount":5}`, 5, 0, 5, false, ""},
		"tier":                          {`{"promptTokenCount":5,"serviceTier":"flex"}`, 5, 0, 5, false, "flex"},
		"tier as an enum":               {`{"promptTokenCount":5,"serviceTier":"SERVICE_TIER_PRIORITY"}`, 5, 0, 5, false, "priority"},
		"traffic type":                  {`{"promptTokenCount":5,"trafficType":"ON_DEMAND_FLEX"}`, 5, 0, 5, false, "flex"},
		"traffic on demand":             {`{"promptTokenCount":5,"trafficType":"ON_DEMAND"}`, 5, 0, 5, false, ""},
		"prompt from the total":         {`{"candidatesTokenCount":120,"totalTokenCount":930}`, 810, 120, 930, false, ""},
		"the total alone":               {`{"totalTokenCount":930}`, 0, 930, 930, false, ""},
		"less in all than in parts":     {`{"promptTokenCount":500,"candidatesTokenCount":120,"totalTokenCount":30}`, 500, 120, 620, true, ""},
		"the Live API's names":          {`{"promptTokenCount":5,"responseTokenCount":7,"totalTokenCount":12}`, 5, 7, 12, false, ""},
		"traffic of no kind":            {`{"promptTokenCount":5,"trafficType":"TRAFFIC_TYPE_UNSPECIFIED"}`, 5, 0, 5, false, ""},
		"traffic that nobody knows":     {`{"promptTokenCount":5,"trafficType":"ON_DEMAND_OFFPEAK"}`, 5, 0, 5, false, "offpeak"},
	} {
		u, ok := parseUsage([]byte(c.raw))
		if !ok || u.Input() != c.input || u.Output() != c.output || u.Total != c.total || u.Mismatch != c.mismatch || u.Tier != c.tier {
			t.Errorf("%s: %+v", name, u)
		}
	}
	u, _ := parseUsage([]byte(`{"promptTokenCount":900,"cachedContentTokenCount":300,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":200},{"modality":"TEXT","tokenCount":700}],"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":50}]}`))
	if u.PromptByModality.Audio != 200 || u.Cached != 300 || u.OutputByModality.Image != 50 {
		t.Errorf("%+v", u)
	}
	u, _ = parseUsage([]byte(`{"promptTokenCount":9,"toolUsePromptTokenCount":8,"toolUsePromptTokensDetails":[{"modality":"VIDEO","tokenCount":3}],` +
		`"cacheTokensDetails":[{"modality":"DOCUMENT","tokenCount":2},{"modality":"AUDIO","tokenCount":-5}],"responseTokensDetails":[{"modality":"audio","tokenCount":4}]}`))
	if u.ToolUseByModality.Video != 3 || u.CachedByModality != (Modalities{Image: 2}) || u.OutputByModality.Audio != 4 {
		t.Errorf("%+v", u)
	}
	// what counts nothing, or what cannot be, is no usage: the estimate stands
	for _, bad := range []string{"", "null", "[]", `"x"`, `{"promptTokenCount":"many"}`, "{}", `{"promptTokenCount":0}`, `{"prompt_tokens":5}`,
		`{"promptTokenCount":-1,"totalTokenCount":5}`, `{"promptTokenCount":5,"thoughtsTokenCount":9000000000000000}`} {
		if _, ok := parseUsage([]byte(bad)); ok {
			t.Errorf("%s is usage", bad)
		}
	}
}
