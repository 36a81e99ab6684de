package gemini

import (
	"math"
	"math/rand/v2"
	"strings"
	"unicode"
)

// tokenizer counts as one of byte pairs does: a text is cut into words and
// runs, and each of them into the longest pieces that a vocabulary has. Which
// pieces it has is drawn by hash, more of the short ones, so that every text has
// its own count and always the same. It shares nothing with the estimates.
type tokenizer struct {
	seed uint64
	seen map[string]int64 // what words were counted before
}

func (c tokenizer) count(text string) (n int64) {
	for begin, kind := 0, -1; begin < len(text); {
		end := len(text)
		for i, r := range text[begin:] {
			k := kindOf(r)
			joins := k == kind || i == 0 || kind == blank && i == 1 && (k == letter || k == sign)
			if !joins || k == digit && i > 0 {
				end = begin + i
				break
			}
			kind = k
		}
		n += c.word(text[begin:end])
		begin, kind = end, -1
	}
	return n
}

const (
	blank = iota
	digit
	letter
	han
	kana
	sign
)

func kindOf(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return blank
	case r >= '0' && r <= '9':
		return digit
	case r < 0x80 && unicode.IsLetter(r):
		return letter
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	}
	return sign
}

func (c tokenizer) word(p string) int64 {
	n, ok := c.seen[p]
	if !ok {
		n = c.cut([]rune(p))
		c.seen[p] = n
	}
	return n
}

func (c tokenizer) cut(p []rune) (n int64) {
	for len(p) > 0 {
		size := min(len(p), longest)
		for size > 1 && !c.has(p[:size]) {
			size--
		}
		if size == 1 && unicode.Is(unicode.Han, p[0]) && c.draw(p[:1]) > 0.94 {
			n += 2 // a rare one falls back to bytes
		}
		n, p = n+1, p[size:]
	}
	return n
}

// has draws whether a piece of two or more is in the vocabulary.
func (c tokenizer) has(p []rune) bool {
	return c.draw(p) < rates[kindOf(p[len(p)-1])][len(p)-1]
}

// rates are the parts of the pieces of each length that a vocabulary has; long
// words are rare.
var rates = func() (out [6][longest]float64) {
	for n := range longest {
		out[blank][n] = 1
		out[letter][n] = math.Pow(0.985, float64((n+1)*(n+1)/2))
		out[han][n] = math.Pow(0.3, float64(n))
		out[kana][n] = math.Pow(0.4, float64(n))
		out[sign][n] = math.Pow(0.4, float64(n))
	}
	return out
}()

const longest = 14 // characters of a piece

// draw gives a number from 0 to 1 that belongs to a piece.
func (c tokenizer) draw(p []rune) float64 {
	h := c.seed
	for _, r := range p {
		h = (h ^ uint64(r)) * 0xff51afd7ed558ccd
		h ^= h >> 33
	}
	return float64(h*0x9E3779B97F4A7C15>>11) / (1 << 53)
}

// writer makes texts of a language out of words that it has drawn, the first
// ones the most frequent.
type writer struct {
	rng   *rand.Rand
	words []string
	glue  func(*rand.Rand) string
}

func (w writer) text(runes int) string {
	var b strings.Builder
	for n := 0; n < runes; {
		u := w.rng.Float64()
		word := w.words[int(u*u*u*float64(len(w.words)))]
		glue := w.glue(w.rng)
		b.WriteString(word + glue)
		n += len([]rune(word)) + len([]rune(glue))
	}
	return b.String()
}

func newWriter(seed uint64, word func(*rand.Rand) string, glue func(*rand.Rand) string) writer {
	rng := rand.New(rand.NewPCG(seed, 11))
	w := writer{rng: rng, glue: glue}
	for range 3000 {
		w.words = append(w.words, word(rng))
	}
	return w
}

// oneOf draws from a list, the first ones more often.
func oneOf(list string) func(*rand.Rand) string {
	all := strings.Split(list, "~")
	return func(rng *rand.Rand) string { return all[int(rng.Float64()*rng.Float64()*float64(len(all)))] }
}

// runes draws from low to high characters between two code points.
func runes(rng *rand.Rand, from, to rune, low, high int) string {
	out := make([]rune, low+rng.IntN(high-low+1))
	for i := range out {
		out[i] = from + rune(rng.Float64()*rng.Float64()*float64(to-from))
	}
	return string(out)
}

var syllables = oneOf("er~in~con~ter~re~es~ing~al~ment~pro~un~able~ver~de~st~ation~com~il~out~th~ar~ly~ex~pre~s~ness~q~fl~ou~mer~sub~igh~ance~z")

func syllabic(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		b.WriteString(syllables(rng))
	}
	return b.String()
}

// writers are the languages of prompts.
func writers(seed uint64) map[string]writer {
	code := newWriter(seed, func(rng *rand.Rand) string {
		if name := syllabic(rng); rng.IntN(3) > 0 {
			return name
		}
		return syllabic(rng) + strings.ToUpper(syllables(rng)[:1]) + syllabic(rng)
	}, oneOf("(~, ~.~ := ~)\n\t~ {\n\t\t~ ~[i]~; ~\"~ != nil {\n~}\n\n~ = 0x1F\n~ // ~()~ += 12\n~*~ <- ~&~ == -1"))
	return map[string]writer{
		"japanese": newWriter(seed, func(rng *rand.Rand) string {
			switch rng.IntN(3) {
			case 0:
				return runes(rng, 0x30A2, 0x30F3, 2, 6)
			case 1:
				return runes(rng, 0x4E00, 0x9000, 1, 3) + runes(rng, 0x3042, 0x308F, 0, 2)
			}
			return runes(rng, 0x3042, 0x308F, 2, 4)
		}, oneOf("~の~を~に~は~、~が~と~で~も~。~です。~から~「~」~\n")),
		"chinese": newWriter(seed, func(rng *rand.Rand) string { return runes(rng, 0x4E00, 0x9000, 1, 4) },
			oneOf("~的~，~了~是~在~。~和~、~\n~；~“~”~2026")),
		"english": newWriter(seed, syllabic, oneOf(" ~ the ~ of ~, ~ to a ~. ~ and ~\n~ (~) ~: ~ 12 ~-~\"~; ~'s ~ – ")),
		"code":    code,
	}
}
