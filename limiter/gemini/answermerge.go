package gemini

import (
	"bytes"
	"encoding/json"
)

// mergeStream makes the one document of a stream's events, as the unary method
// would have answered: each candidate's parts in order, texts that follow each
// other as one, and of all else the last that was said. ok is false for what
// is not such a stream.
func mergeStream(raw []byte) (doc []byte, ok bool) {
	var m streamMerge
	for _, chunk := range streamDocs(raw) {
		if !m.add(chunk) {
			return nil, false
		}
	}
	return m.doc()
}

// streamDocs are the documents of the events, or of the array that a stream is
// without alt=sse.
func streamDocs(raw []byte) (docs []json.RawMessage) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '[' {
		if json.Unmarshal(t, &docs) != nil {
			return nil
		}
		return docs
	}
	for _, event := range bytes.Split(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n\n")) {
		var data []byte
		for line := range bytes.Lines(event) {
			if rest, found := bytes.CutPrefix(line, dataPrefix); found {
				data = append(data, rest...)
			}
		}
		if data = bytes.TrimSpace(data); len(data) > 0 && !bytes.Equal(data, []byte("[DONE]")) {
			docs = append(docs, data)
		}
	}
	return docs
}

type streamMerge struct {
	top   map[string]json.RawMessage
	order []int64 // of the candidates, as they came
	by    map[int64]*mergedCandidate
}

type mergedCandidate struct {
	top   map[string]json.RawMessage
	role  json.RawMessage
	parts []map[string]json.RawMessage
}

func (m *streamMerge) add(chunk json.RawMessage) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(chunk, &top) != nil {
		return false
	}
	if m.top == nil {
		m.top, m.by = map[string]json.RawMessage{}, map[int64]*mergedCandidate{}
	}
	for name, v := range top {
		m.top[name] = v
	}
	var candidates []map[string]json.RawMessage
	if top["candidates"] != nil && json.Unmarshal(top["candidates"], &candidates) != nil {
		return false
	}
	for _, c := range candidates {
		if !m.candidate(c) {
			return false
		}
	}
	return true
}

func (m *streamMerge) candidate(c map[string]json.RawMessage) bool {
	var index int64
	var content struct {
		Role  json.RawMessage
		Parts []map[string]json.RawMessage
	}
	if c["index"] != nil && json.Unmarshal(c["index"], &index) != nil {
		return false
	}
	if c["content"] != nil && json.Unmarshal(c["content"], &content) != nil {
		return false
	}
	to := m.by[index]
	if to == nil {
		to = &mergedCandidate{top: map[string]json.RawMessage{}}
		m.by[index], m.order = to, append(m.order, index)
	}
	for name, v := range c {
		to.top[name] = v
	}
	if content.Role != nil {
		to.role = content.Role
	}
	for _, p := range content.Parts {
		to.part(p)
	}
	return true
}

// part adds a part, to the one before when both are nothing but text of the same sort.
func (c *mergedCandidate) part(p map[string]json.RawMessage) {
	if n := len(c.parts); n > 0 && plainText(p) && plainText(c.parts[n-1]) && string(p["thought"]) == string(c.parts[n-1]["thought"]) {
		var before, after string
		if json.Unmarshal(c.parts[n-1]["text"], &before) == nil && json.Unmarshal(p["text"], &after) == nil {
			c.parts[n-1]["text"] = quote(before + after)
			return
		}
	}
	c.parts = append(c.parts, p)
}

func plainText(p map[string]json.RawMessage) bool {
	for name := range p {
		if name != "text" && name != "thought" {
			return false
		}
	}
	return p["text"] != nil
}

func (m *streamMerge) doc() ([]byte, bool) {
	if len(m.order) == 0 {
		return nil, false
	}
	list := make([]map[string]json.RawMessage, 0, len(m.order))
	for _, index := range m.order {
		c := m.by[index]
		content := map[string]any{"parts": c.parts}
		if c.role != nil {
			content["role"] = c.role
		}
		b, err := json.Marshal(content)
		if err != nil {
			return nil, false
		}
		c.top["content"] = b
		list = append(list, c.top)
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, false
	}
	m.top["candidates"] = b
	doc, err := json.Marshal(m.top)
	return doc, err == nil
}
