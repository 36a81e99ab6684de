package geminitest

import (
	"encoding/json"
	"fmt"
)

// chunkTokens is about how much text a chunk of a stream has.
const chunkTokens = 16

// stream cuts the answer into chunks. Usage is cumulative, as at Gemini.
func (v *visit) stream(all []said, u usage) *reply {
	var chunks []generateResponse
	pieces := 1
	if all[0].call == nil {
		pieces += int(u.output/int64(len(all))) / chunkTokens
	}
	if reason := v.blocked(); reason != "" {
		chunk := v.envelope(u)
		chunk.PromptFeedback = &promptFeedback{reason, ratings(reason)}
		return v.frame([]generateResponse{chunk})
	}
	for i := range pieces {
		last := i == pieces-1
		so := u
		so.output = u.output * int64(i+1) / int64(pieces)
		chunk := v.envelope(so)
		for index, a := range all {
			part := said{text: piece(a.text, i, pieces)}
			if last { // a call is sent whole
				part.call, part.finish = a.call, a.finish
			}
			chunk.Candidates = append(chunk.Candidates, v.candidate(index, part, i == 0))
		}
		chunks = append(chunks, chunk)
	}
	return v.frame(chunks)
}

// piece is part i of n of a text, never within a character.
func piece(s string, i, n int) string {
	cut := func(at int) int {
		for at < len(s) && s[at]&0xC0 == 0x80 {
			at++
		}
		return at
	}
	return s[cut(len(s)*i/n):cut(len(s)*(i+1)/n)]
}

// frame writes chunks as server-sent events, or as a JSON array when alt=sse is not asked for.
func (v *visit) frame(chunks []generateResponse) *reply {
	r := &reply{status: 200, contentType: typeSSE}
	open, between, last := "data: ", "\r\n\r\n", "\r\n\r\n"
	if !v.q.sse {
		r.contentType = typeJSON
		open, between, last = "", ",\r\n", "]"
	}
	for i, c := range chunks {
		b, err := json.Marshal(c)
		if err != nil {
			panic(err) // our own types
		}
		if v.has(FaultStreamError) && i == len(chunks)-1 {
			b = errorEvent()
		}
		tail := between
		if i == len(chunks)-1 {
			tail = last
		}
		r.chunks = append(r.chunks, fmt.Appendf(nil, "%s%s%s", open, b, tail))
	}
	if !v.q.sse {
		r.chunks[0] = append([]byte("["), r.chunks[0]...)
	}
	return r
}
