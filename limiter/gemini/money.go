package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
)

// What is held for things that a request may bring about and does not bound.
const (
	// heldSearches are the queries of a request that may search the web: mostly it
	// is one to three, and the API has no bound.
	heldSearches = 4
	// heldImage is the tokens of a large image that is made (2K to 4K:
	// https://ai.google.dev/gemini-api/docs/image-generation).
	heldImage = 2_520
)

func searchTool(tools []byte) bool {
	return bytes.Contains(tools, []byte(`"googleSearch`)) || bytes.Contains(tools, []byte(`"google_search`))
}

func (r *request) searches() int64 {
	if r.search {
		return heldSearches
	}
	return 0
}

// media is the part of the output that is no text: the images that may be made.
func (r *request) media() Modalities { return Modalities{Image: r.images() * heldImage} }

// add counts the tokens of a part that is not text.
func (m *Modalities) add(mime string, n int64) {
	kind, _, _ := strings.Cut(mime, "/")
	switch {
	case kind == "audio":
		m.Audio += n
	case kind == "video":
		m.Video += n
	case kind == "image", mime == "application/pdf":
		m.Image += n
	}
}

// elements counts those of a JSON array.
func elements(raw []byte) int64 {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return 0
	}
	return int64(len(list))
}
