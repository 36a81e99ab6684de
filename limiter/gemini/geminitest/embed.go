package geminitest

import (
	"math"
	"strings"
	"time"
	"unicode"
)

// embed makes the answer of embedContent and of batchEmbedContents.
func (v *visit) embed() *reply {
	list := make([]embedding, len(v.q.embeds))
	for i := range v.q.embeds {
		list[i].Values = v.s.vector(v.q.prompts[i].text(), v.dimensions(v.q.embeds[i]))
	}
	var r *reply
	switch v.q.method {
	case methodEmbed:
		r = okReply(map[string]embedding{"embedding": list[0]})
	case methodPredict:
		r = okReply(v.q.predictions(list))
	default:
		r = okReply(map[string][]embedding{"embeddings": list})
	}
	r.usage, r.billed = usage{prompt: v.q.tokens(), tier: tierStandard}, true
	base, perToken := v.latency()
	r.first = base + time.Duration(len(list))*perToken
	return r
}

func (v *visit) dimensions(e embedRequest) int {
	n := e.OutputDimensionality
	if n == 0 && e.EmbedContentConfig != nil {
		n = e.EmbedContentConfig.OutputDimensionality
	}
	if n <= 0 || n > v.model.Dimensions {
		return v.model.Dimensions
	}
	return n
}

// vector is a unit vector that depends on the seed and the text. Texts that
// share words point in similar directions: each word adds to a few dimensions.
func (s *Server) vector(text string, dimensions int) []float32 {
	sum := make([]float64, dimensions)
	noise := s.random(int64(digestOf(text)), saltAnswer)
	for i := range sum {
		sum[i] = 0.02 * (noise.Float64() - 0.5)
	}
	const spots = 24
	for _, w := range embedWords(text) {
		rng := s.random(int64(digestOf(w)), saltAnswer)
		for range spots {
			n := rng.Uint64()
			sum[n>>1%uint64(dimensions)] += float64(n&1)*2 - 1
		}
	}
	return unit(sum)
}

func unit(sum []float64) []float32 {
	var square float64
	for _, x := range sum {
		square += x * x
	}
	v := make([]float32, len(sum))
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(square))
	}
	return v
}

// embedWords are the lower-case words, and pairs of characters where a script
// writes none.
func embedWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out []string
	for _, w := range words {
		runes := []rune(w)
		if runes[0] < 0x2E80 {
			out = append(out, w)
			continue
		}
		for i := range runes {
			out = append(out, string(runes[i:min(i+2, len(runes))]))
		}
	}
	return out
}

func digestOf(s string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
