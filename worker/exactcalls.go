package worker

import (
	"bytes"
	"encoding/json"
)

// rawAnswer is what is read of an answer besides the SDK.
type rawAnswer struct {
	Candidates []struct {
		Index   int32
		Content struct {
			Parts []struct {
				Thought      bool
				FunctionCall json.RawMessage
			}
		}
	}
}

// withExactCalls puts function calls as the answer has them in place of those that
// went through the SDK, whose maps hold whole numbers up to 2^53 only.
func (o outcome) withExactCalls(raw []byte) outcome {
	if o.parsed == nil {
		return o
	}
	exact := exactCalls(raw)
	if exact == nil {
		return o
	}
	if o.output == string(o.parsed) {
		o.output = string(exact)
	}
	o.parsed = exact
	return o
}

// exactCalls are the calls of the candidate of the lowest index, in the form of
// functionCalls; nil where there are none.
func exactCalls(raw []byte) []byte {
	var a rawAnswer
	if json.Unmarshal(raw, &a) != nil || len(a.Candidates) == 0 {
		return nil
	}
	first := a.Candidates[0]
	for _, c := range a.Candidates[1:] {
		if c.Index < first.Index {
			first = c
		}
	}
	var b bytes.Buffer
	for _, p := range first.Content.Parts {
		if p.Thought || len(p.FunctionCall) == 0 || string(p.FunctionCall) == "null" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if json.Compact(&b, p.FunctionCall) != nil {
			return nil
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []byte(`{"functionCalls":[` + b.String() + `]}`)
}
