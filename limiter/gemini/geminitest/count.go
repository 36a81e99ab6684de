package geminitest

import (
	"bytes"
	"image"
	_ "image/gif" // dimensions decide what an image costs
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"unicode"
)

// countText counts tokens by script, in the proportions of Gemini's tokenizer:
// short words are one token, digits one each, ideographs three in four.
// It is the judge of other estimates and must not borrow from them.
func countText(s string) int64 {
	var milli, word int64
	space := false
	for _, r := range s {
		if r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z' || r == '\'') {
			word++
			continue
		}
		milli += wordCost(word)
		word = 0
		if blank := r == ' ' || r == '\n' || r == '\t' || r == '\r'; blank {
			if !space && r == '\n' {
				milli += 1000
			}
			space = true // the blank before a word belongs to the word
			continue
		}
		space = false
		milli += runeCost(r)
	}
	return (milli + wordCost(word) + 999) / 1000
}

// wordCost is in thousandths of a token: up to six letters are one, then one
// for every four more.
func wordCost(letters int64) int64 {
	if letters == 0 {
		return 0
	}
	return 1000 + max(letters-6+3, 0)/4*1000
}

func runeCost(r rune) int64 {
	switch {
	case r < 0x80:
		return 1000 // a digit or a sign
	case r < 0x250:
		return 400 // accented Latin
	case unicode.Is(unicode.Han, r):
		return 750
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 650
	case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew):
		return 450
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Devanagari):
		return 550
	case r >= 0x1F000, unicode.Is(unicode.So, r):
		return 1800 // emoji
	default:
		return 1000
	}
}

// cutText gives the longest prefix of s that has at most n tokens.
func cutText(s string, n int64) string {
	if n <= 0 {
		return ""
	}
	starts := make([]int, 0, len(s))
	for i := range s {
		starts = append(starts, i)
	}
	low, high := 0, len(starts) // in runes
	for low < high {
		mid := (low + high + 1) / 2
		if countText(s[:runeEnd(s, starts, mid)]) <= n {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return s[:runeEnd(s, starts, low)]
}

func runeEnd(s string, starts []int, runes int) int {
	if runes == len(starts) {
		return len(s)
	}
	return starts[runes]
}

// The modalities, in the order in which usage lists them.
const (
	modText = iota
	modImage
	modVideo
	modAudio
	modDocument
)

var modalityNames = [...]string{modText: "TEXT", modImage: "IMAGE", modVideo: "VIDEO", modAudio: "AUDIO", modDocument: "DOCUMENT"}

// countMedia gives what a file costs (https://ai.google.dev/gemini-api/docs/tokens):
// 258 a tile or a page, 32 a second of sound, 263 a second of film. Length is
// guessed from the size, at 128 kbit/s and 1 Mbit/s.
func countMedia(mime string, data []byte) (modality int, tokens int64) {
	const tile, soundSecond, filmSecond = 258, 32, 263
	kind, _, _ := strings.Cut(mime, "/")
	switch {
	case kind == "image":
		return modImage, tile * tiles(data)
	case kind == "audio":
		return modAudio, soundSecond * (int64(len(data))/16_000 + 1)
	case kind == "video":
		return modVideo, filmSecond * (int64(len(data))/125_000 + 1)
	case mime == "application/pdf":
		pages := bytes.Count(data, []byte("/Type /Page")) - bytes.Count(data, []byte("/Type /Pages"))
		return modDocument, tile * int64(max(pages, 1))
	case kind == "text":
		return modText, countText(string(data))
	default:
		return modDocument, tile
	}
}

// tiles gives the squares of 768 pixels that cover an image; a small one, or
// one that cannot be read, is one.
func tiles(data []byte) int64 {
	const small, side = 384, 768
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width <= small && c.Height <= small {
		return 1
	}
	return int64((c.Width+side-1)/side) * int64((c.Height+side-1)/side)
}
