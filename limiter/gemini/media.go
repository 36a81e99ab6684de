package gemini

import (
	"bytes"
	"encoding/base64"
	"io"
	"math"
	"strings"
	"time"
)

// mediaPart is a part of a request that is not text.
type mediaPart struct {
	mime     string
	data     []byte // base64, in the request's body
	uri      bool   // a file that was uploaded: its size is not known here
	level    string // media resolution of this part
	fps      float64
	from, to float64 // seconds of a video that are looked at
}

// What a file elsewhere is taken for when nothing tells its length.
const (
	filePages        = 50
	fileSeconds      = 600
	audioPerSecond   = 32     // https://ai.google.dev/gemini-api/docs/audio
	oldVideoFrame    = 258    // https://ai.google.dev/gemini-api/docs/video-understanding
	oldTile          = 258    // https://ai.google.dev/gemini-api/docs/image-understanding
	leastAudioBytes  = 2_000  // a second of speech at 16 kbit/s
	leastVideoBytes  = 25_000 // a second of video at 200 kbit/s
	unknownPartBytes = 3      // bytes a token, for kinds of data that are not known
)

// resolution is the tokens of one image, video frame or page at each level of
// media resolution (https://ai.google.dev/gemini-api/docs/media-resolution).
type resolution struct{ low, medium, high, ultra, unset int64 }

var (
	newImage = resolution{280, 560, 1120, 2240, 1120}
	newFrame = resolution{70, 70, 280, 280, 70}
	newPage  = resolution{280, 560, 1120, 1120, 560}
)

func (r resolution) at(level string) int64 {
	switch {
	case strings.HasSuffix(level, "LOW"):
		return r.low
	case strings.HasSuffix(level, "MEDIUM"):
		return r.medium
	case strings.HasSuffix(level, "ULTRA_HIGH"):
		return r.ultra
	case strings.HasSuffix(level, "HIGH"):
		return r.high
	}
	return r.unset
}

// oldMedia holds for the models up to 2.5, which count images by tiles.
func oldMedia(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// tokens is what the part costs, rather too much than too little.
func (p mediaPart) tokens(r *request) int64 {
	level, old := p.level, oldMedia(r.model.Name)
	if level == "" {
		level = r.level
	}
	kind, _, _ := strings.Cut(p.mime, "/")
	switch {
	case kind == "image":
		return p.imageTokens(level, old)
	case kind == "audio":
		return seconds64(p.duration(leastAudioBytes) * audioPerSecond)
	case kind == "video":
		return p.videoTokens(level, old)
	case p.mime == "application/pdf":
		return p.pages() * perPage(level, old)
	case p.uri:
		return filePages * newPage.high
	case kind == "text" || p.mime == "application/json" || p.mime == "application/xml":
		return EstimateText(string(p.decoded()))
	}
	return int64(len(p.data))*3/4/unknownPartBytes + 1
}

// EstimateMedia is what a file costs in input tokens as a part of a request to the
// model, rather too much than too little.
func EstimateMedia(m Model, mime string, content []byte) int64 {
	p := mediaPart{mime: mime, data: base64.StdEncoding.AppendEncode(nil, content)}
	return p.tokens(&request{model: m})
}

func perPage(level string, old bool) int64 {
	if old {
		return oldTile
	}
	return newPage.at(level)
}

func (p mediaPart) videoTokens(level string, old bool) int64 {
	frame := newFrame.at(level)
	if old {
		frame = resolution{66, oldVideoFrame, oldVideoFrame, oldVideoFrame, oldVideoFrame}.at(level)
	}
	fps := p.fps
	if fps <= 0 {
		fps = 1
	}
	length := p.duration(leastVideoBytes)
	if p.to > p.from {
		length = p.to - p.from
	}
	return seconds64(length * (fps*float64(frame) + audioPerSecond))
}

// seconds64 rounds up, and keeps nonsense out of integers.
func seconds64(f float64) int64 {
	if math.IsNaN(f) || f < 1 {
		return 1
	}
	return int64(math.Ceil(min(f, 1e12)))
}

// reader gives the decoded bytes as they are asked for.
func (p mediaPart) reader() io.Reader {
	enc := base64.StdEncoding
	if bytes.ContainsAny(p.data[:min(len(p.data), 4096)], "-_") {
		enc = base64.URLEncoding
	}
	return base64.NewDecoder(enc, bytes.NewReader(p.data))
}

// decoded gives what could be decoded, which is all for a sound part.
func (p mediaPart) decoded() []byte {
	b, _ := io.ReadAll(p.reader())
	return b
}

// seconds reads a proto duration.
func seconds(s string) float64 {
	d, _ := time.ParseDuration(s)
	return d.Seconds()
}
