package gemini

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// requestSchema is what a request is looked through for: all that costs input,
// and all that bounds output. Names are accepted in both of proto's spellings.
var requestSchema = func() *field {
	media := map[string]*field{"mimeType": {name: "mime", take: true}, "data": {name: "data", take: true}, "fileUri": {name: "uri", take: true}}
	part := &field{name: "part", mark: true}
	part.keys = map[string]*field{
		"text":       {name: "text", take: true},
		"inlineData": {name: "inline", keys: media},
		"fileData":   {name: "file", keys: media},
		"videoMetadata": {name: "video", keys: map[string]*field{
			"fps": {name: "fps", take: true}, "startOffset": {name: "from", take: true}, "endOffset": {name: "to", take: true},
		}},
		"mediaResolution":     {name: "resolution", keys: map[string]*field{"level": {name: "level", take: true}}},
		"functionCall":        {name: "json", take: true},
		"executableCode":      {name: "json", take: true},
		"codeExecutionResult": {name: "json", take: true},
		"functionResponse":    {name: "response", keys: map[string]*field{"name": {name: "json", take: true}, "response": {name: "json", take: true}, "parts": part}},
	}
	content := &field{name: "content", mark: true, keys: map[string]*field{"parts": part}}
	root := &field{name: "request", keys: map[string]*field{
		"contents": content, "systemInstruction": content, "content": content,
		"requests":         {name: "text of batch", mark: true, keys: map[string]*field{"content": content}},
		"instances":        {name: "text of batch", mark: true, keys: map[string]*field{"content": {name: "text", take: true}}}, // of Vertex AI's predict
		"tools":            {name: "tools", take: true},
		"cachedContent":    {name: "cached", take: true},
		"serviceTier":      {name: "tier", take: true},
		"generationConfig": {name: "config", keys: configFields()},
	}}
	return bothSpellings(root)
}()

func configFields() map[string]*field {
	return map[string]*field{
		"maxOutputTokens":    {name: "max", take: true},
		"candidateCount":     {name: "candidates", take: true},
		"thinkingConfig":     {name: "thinking", keys: map[string]*field{"thinkingBudget": {name: "budget", take: true}}},
		"mediaResolution":    {name: "default level", take: true},
		"responseModalities": {name: "modalities", take: true},
		"responseSchema":     {name: "json", take: true},
		"responseJsonSchema": {name: "json", take: true},
	}
}

// bothSpellings adds the snake_case name of every field.
func bothSpellings(f *field) *field {
	for name, child := range f.keys {
		snake := snakeCase(name)
		if snake == name || f.keys[snake] != nil {
			continue
		}
		f.keys[snake] = child
	}
	for _, child := range f.keys {
		if !spelled(child) {
			bothSpellings(child)
		}
	}
	return f
}

// spelled holds for a field without names left to add, so that a field inside
// itself ends.
func spelled(f *field) bool {
	for name := range f.keys {
		if f.keys[snakeCase(name)] == nil {
			return false
		}
	}
	return f.name == "part" || len(f.keys) == 0
}

func snakeCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// request is what of a request bears on its cost.
type request struct {
	model   Model
	text    textCount
	parts   []mediaPart
	part    mediaPart // the part at hand
	texts   int64     // of a batch
	cached  string    // name of the cached content
	tier    string
	level   string // media resolution of the whole request
	max     int64
	budget  int64
	answers int64      // candidates
	image   bool       // images are asked for
	modal   bool       // what is asked for is said
	search  bool       // the model may search the web
	counted Modalities // of the parts, once the input is counted
}

// overhead is what each content costs beside its parts: role and turn markers.
const overhead = 4

func readRequest(a Ask) (*request, error) {
	r := &request{model: a.Model}
	s := scanner{root: requestSchema, on: r.see}
	s.reset()
	s.push(bytes.TrimRight(a.Body, " \r\n\t"))
	if s.state != scanDone {
		return nil, errNotJSON
	}
	return r, nil
}

func (r *request) see(f *field, raw []byte) {
	switch f.name {
	case "text":
		if len(raw) > 1 && raw[0] == '"' {
			r.text.add(weighJSON(raw[1 : len(raw)-1]))
		}
	case "json":
		r.text.add(weighJSON(raw))
	case "tools":
		r.text.add(weighJSON(raw))
		r.search = r.search || searchTool(raw)
	case "content":
		r.text.signs += overhead * 100
	case "text of batch":
		r.texts++
	case "cached":
		r.cached = unquote(raw)
	case "tier":
		r.tier = tierName(unquote(raw), "")
	case "modalities":
		r.modal, r.image = true, bytes.Contains(bytes.ToUpper(raw), []byte("IMAGE"))
	default:
		r.seeNumber(f, raw)
		r.seeMedia(f, raw)
	}
}

func (r *request) seeNumber(f *field, raw []byte) {
	n, _ := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	switch f.name {
	case "max":
		r.max = n
	case "budget":
		r.budget = n
	case "candidates":
		r.answers = n
	case "default level":
		r.level = unquote(raw)
	}
}

func (r *request) seeMedia(f *field, raw []byte) {
	switch f.name {
	case "mime":
		r.part.mime = strings.ToLower(unquote(raw))
	case "data":
		r.part.data = bytes.Trim(raw, `"`)
	case "uri":
		r.part.uri = true
	case "level":
		r.part.level = unquote(raw)
	case "fps":
		r.part.fps, _ = strconv.ParseFloat(string(raw), 64)
	case "from":
		r.part.from = seconds(unquote(raw))
	case "to":
		r.part.to = seconds(unquote(raw))
	case "part":
		if r.part.data != nil || r.part.uri {
			r.parts = append(r.parts, r.part)
		}
		r.part = mediaPart{}
	}
}

// input is the tokens that go in: what they are made of, and those that surely
// do.
func (r *request) input() (s shape, least int64) {
	var media int64
	for _, p := range r.parts {
		n := p.tokens(r)
		media += n
		r.counted.add(p.mime, n)
	}
	s = shape{
		words: float64(r.text.words) / 100, signs: float64(r.text.signs)/100 + overhead,
		han: float64(r.text.han) / 100, foreign: float64(r.text.foreign) / 100, media: float64(media),
	}
	return s, r.text.least() + media/2
}

// output is the most that may come out: the cap, and a thinking budget stated
// beside it, times the candidates. Each of these has been honoured where the
// other was smaller.
func (r *request) output() int64 {
	if r.model.MaxOutput == 0 || strings.Contains(r.model.Name, "embedding") || r.texts > 0 {
		return 0
	}
	one := r.model.MaxOutput
	if r.max > 0 {
		one = min(one, r.max+max(0, r.budget))
	}
	return one * max(1, r.answers)
}

// images are those that may be made. An image model makes some unless the request
// asks for text alone (https://ai.google.dev/gemini-api/docs/image-generation).
func (r *request) images() int64 {
	if !r.image && (r.modal || !strings.Contains(r.model.Name, "-image")) {
		return 0
	}
	return max(1, r.answers)
}
