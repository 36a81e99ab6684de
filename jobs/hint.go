package jobs

import (
	"bytes"
	"fmt"
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// guess is an encoding that a file may be in, with how much each script speaks
// for it: the double-byte encodings overlap, so that nearly every text decodes
// as each of them.
type guess struct {
	name              string
	enc               encoding.Encoding
	kana, han, hangul float64
}

var guesses = []guess{
	{name: "cp932", enc: japanese.ShiftJIS, kana: 2, han: 0.6, hangul: -1},
	{name: "euc-jp", enc: japanese.EUCJP, kana: 2, han: 0.6, hangul: -1},
	{name: "gbk", enc: simplifiedchinese.GBK, kana: -1, han: 1, hangul: -1},
	{name: "euc-kr", enc: korean.EUCKR, kana: -1, han: 0.3, hangul: 2},
}

// encodingHint says what a text that is not UTF-8 looks like, from the line
// that holds b[at] on.
func encodingHint(b []byte, at int) string {
	sample := b[bytes.LastIndexByte(b[:at], '\n')+1:]
	if len(sample) > 8<<10 {
		sample = sample[:8<<10]
	}
	best, top := "", 0.3
	for _, g := range guesses {
		if s := g.score(sample); s > top {
			best, top = g.name, s
		}
	}
	if best == "" && latin(sample) {
		best = "windows-1252"
	}
	if best == "" {
		return "save the file as UTF-8, or name its encoding with --encoding"
	}
	return fmt.Sprintf("it looks like %s: give --encoding %s, or save the file as UTF-8", best, best)
}

// score is the mean over the characters that are not ASCII.
func (g guess) score(sample []byte) float64 {
	text, err := g.enc.NewDecoder().Bytes(sample)
	if err != nil {
		return 0
	}
	// The sample may end inside a character.
	text = bytes.TrimRight(text, "\uFFFD")
	sum, n := 0.0, 0
	for _, r := range string(text) {
		if r < 0x80 {
			continue
		}
		n++
		sum += g.weight(r)
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

func (g guess) weight(r rune) float64 {
	switch {
	case r == unicode.ReplacementChar:
		return -10
	case r >= 0xFF61 && r <= 0xFF9F: // half-width katakana: what other encodings look like in cp932
		return -0.5
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return g.kana
	case r >= 0xAC00 && r <= 0xD7A3:
		return g.hangul
	case unicode.Is(unicode.Han, r):
		return g.han
	case unicode.IsPunct(r) || unicode.IsSymbol(r):
		return 0.3
	}
	return -0.5
}

// latin says that the bytes above ASCII stand singly among Latin letters.
func latin(sample []byte) bool {
	text, err := charmap.Windows1252.NewDecoder().Bytes(sample)
	if err != nil {
		return false
	}
	high, letters := 0, 0
	for _, r := range string(text) {
		if r < 0x80 {
			continue
		}
		high++
		if unicode.Is(unicode.Latin, r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
			letters++
		}
	}
	return high > 0 && letters*10 >= high*9
}
