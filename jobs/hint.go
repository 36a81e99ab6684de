package jobs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	euc               bool // its bytes are ASCII or 0xA1 and above
	kana, han, hangul float64
}

var guesses = []guess{
	{name: "cp932", enc: japanese.ShiftJIS, kana: 2, han: 0.6, hangul: -1},
	{name: "euc-jp", enc: japanese.EUCJP, euc: true, kana: 2, han: 0.6, hangul: -1},
	{name: "gbk", enc: simplifiedchinese.GBK, kana: -1, han: 1, hangul: -1},
	{name: "euc-kr", enc: korean.EUCKR, euc: true, kana: -1, han: 0.3, hangul: 1.1},
}

// encodingHint says what a text that is not UTF-8 looks like, from the line
// that holds b[at] on, and what to do: the input has an option for it.
func encodingHint(b []byte, at int, option bool) string {
	sample := b[bytes.LastIndexByte(b[:at], '\n')+1:]
	if len(sample) > 8<<10 {
		sample = sample[:8<<10]
	}
	if mostlyUTF8(sample) {
		return "the rest is UTF-8: repair this place"
	}
	names := likely(sample)
	if len(names) == 0 {
		if option {
			return "save the file as UTF-8, or name its encoding with --encoding"
		}
		return "save the file as UTF-8"
	}
	give := ""
	if option {
		give = "give --encoding " + strings.Join(names, ", or --encoding ") + ", or "
	}
	return fmt.Sprintf("it looks like %s: %ssave the file as UTF-8 (iconv -f %s -t utf-8 FILE > NEW)", strings.Join(names, " or "), give, names[0]) + readEachWay(names, lineOf(b, at))
}

// readEachWay shows a line as each of several encodings has it: only a person knows
// which is the text. "" for one.
func readEachWay(names []string, line []byte) string {
	if len(names) < 2 {
		return ""
	}
	var ways []string
	for _, name := range names {
		enc, err := lookupEncoding(name)
		if err != nil {
			continue
		}
		text, _ := enc.NewDecoder().Bytes(line)
		r := []rune(strings.TrimSpace(string(text)))
		ways = append(ways, fmt.Sprintf("as %s %q", name, string(r[:min(30, len(r))])))
	}
	return "\n    look which is right: the line is " + strings.Join(ways, ", ")
}

// likely names the encodings that a text may well be in, the likeliest first. A few
// characters of Japanese are accents and signs of a Western encoding too, and the
// other way round.
func likely(sample []byte) []string {
	best := looksLike(sample)
	switch {
	case best != "cp932" && best != "windows-1252" && best != "" && readable(sample):
		if halfWidth(sample) {
			return []string{best, "cp932"}
		}
		return []string{"cp932", best}
	case best == "cp932" || !isJapanese(sample):
	case best == "":
		return []string{"cp932"}
	case !halfWidth(sample), best == "windows-1252" && !western(sample):
		return []string{"cp932", best}
	default:
		return []string{best, "cp932"}
	}
	if best == "" {
		return nil
	}
	return []string{best}
}

// readable says that a text decodes as cp932; its last character may be cut off.
func readable(sample []byte) bool {
	text, err := japanese.ShiftJIS.NewDecoder().Bytes(sample)
	return err == nil && !bytes.ContainsRune(bytes.TrimSuffix(text, []byte("\uFFFD")), unicode.ReplacementChar)
}

// fewBytes is up to how many bytes above ASCII a text tells little.
const fewBytes = 60

// isJapanese says that a text of a few bytes above ASCII is nothing but Japanese, read as
// cp932.
func isJapanese(sample []byte) bool {
	high := 0
	for _, b := range sample {
		if b >= utf8.RuneSelf {
			high++
		}
	}
	text, err := japanese.ShiftJIS.NewDecoder().Bytes(sample)
	if err != nil || high == 0 || high > fewBytes {
		return false
	}
	return !bytes.ContainsFunc(bytes.TrimRight(text, "\uFFFD"), func(r rune) bool {
		return r >= utf8.RuneSelf && !unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) && (r < 0x3000 || r > 0x303F) && (r < 0xFF00 || r > 0xFFEF)
	})
}

// halfWidth says that some of a text, read as cp932, are the katakana that single
// bytes of other encodings look like.
func halfWidth(sample []byte) bool {
	text, _ := japanese.ShiftJIS.NewDecoder().Bytes(sample)
	return bytes.ContainsFunc(text, func(r rune) bool { return r >= 0xFF61 && r <= 0xFF9F })
}

// western says that a text is mostly letters beyond ASCII, not signs, read as
// windows-1252.
func western(sample []byte) bool {
	text, err := charmap.Windows1252.NewDecoder().Bytes(sample)
	letters, high := 0, 0
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			high++
			if unicode.IsLetter(r) {
				letters++
			}
		}
	}
	return err == nil && letters*10 > high*6
}

// looksLike names the likeliest encoding, "" when none is likely.
func looksLike(sample []byte) string {
	best, top := "", 0.3
	if single(sample) && latin(sample) {
		best, top = "windows-1252", 10
	}
	for _, g := range guesses {
		if s := g.score(sample); s > top {
			best, top = g.name, s
		}
	}
	if best == "" && latin(sample) {
		best = "windows-1252"
	}
	return best
}

// mostlyUTF8 says that most of what is not ASCII is whole UTF-8 characters.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		b = b[n:]
	}
	return good > bad
}

// score is the mean over the characters that are not ASCII.
func (g guess) score(sample []byte) float64 {
	if g.euc && slices.ContainsFunc(sample, isC1) {
		return 0
	}
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
	if n < 3 {
		return 0
	}
	return sum / float64(n)
}

func isC1(b byte) bool { return b >= 0x80 && b <= 0xA0 }

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

// single says that most bytes above ASCII have none beside them, as in the
// languages that use a few accents.
func single(b []byte) bool {
	alone, n := 0, 0
	for i, c := range b {
		if c < 0x80 {
			continue
		}
		n++
		if (i == 0 || b[i-1] < 0x80) && (i+1 == len(b) || b[i+1] < 0x80) {
			alone++
		}
	}
	return alone*10 > n*6
}

// latin says that the bytes above ASCII are Latin letters or signs.
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
