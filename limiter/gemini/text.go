package gemini

import "unicode/utf8"

// Weights are hundredths of a token per character, on the high side of what
// Gemini's tokenizer makes of ordinary text, for each kind of script.
const (
	wLetter   = 27  // a-z: 3.7 a token; English has longer tokens, most languages have not
	wUpper    = 55  // capitals and mixed case break words up
	wSymbol   = 100 // and each digit
	wNewline  = 100
	wBlank    = 25 // more white space behind white space; one blank belongs to the word behind it
	wAccented = 100
	wCyrillic = 48
	wOther    = 70  // Greek, Hebrew, Arabic, Indic scripts
	wThai     = 90  // Thai, Lao, Khmer, Burmese: no spaces, few whole words
	wKana     = 100 // kana and Hangul
	wHan      = 110 // rare ones take up to three
	wRare     = 300 // falls back to bytes
	wEmoji    = 300
	wJoiner   = 100 // joiners, variation selectors and skin tones in emoji; general punctuation
	leastWord = 100 // a word of ASCII letters is one token at least
)

// textCount adds up the weight of a text by what it is made of. Words of ASCII
// letters are sure within a few hundredths, the rest may be a third less.
type textCount struct {
	words   int64 // of ASCII letters
	signs   int64 // all else of ASCII
	han     int64 // ideographs
	foreign int64 // all else beyond ASCII
	word    int64 // weight of the ASCII word at hand
	blank   bool  // after white space
}

// rune takes the next character.
func (t *textCount) rune(r rune) {
	if r < utf8.RuneSelf {
		t.ascii(byte(r))
		return
	}
	t.endWord()
	t.blank = false
	if n := weight(r); n == wHan {
		t.han += n
	} else {
		t.foreign += n
	}
}

func (t *textCount) ascii(c byte) {
	switch {
	case c >= 'a' && c <= 'z':
		t.word += wLetter
		t.blank = false
	case c >= 'A' && c <= 'Z':
		t.word += wUpper
		t.blank = false
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		t.endWord()
		t.space(c)
	default: // a digit weighs what a symbol does
		t.endWord()
		t.blank = false
		t.signs += wSymbol
	}
}

func (t *textCount) space(c byte) {
	switch {
	case t.blank:
		t.signs += wBlank
	case c == '\n':
		t.signs += wNewline
	}
	t.blank = true
}

func (t *textCount) endWord() {
	if t.word > 0 {
		t.words += max(t.word, leastWord)
		t.word = 0
	}
}

// add puts a finished text to a sum of several.
func (t *textCount) add(more textCount) {
	more.endWord()
	t.words += more.words
	t.signs += more.signs
	t.han += more.han
	t.foreign += more.foreign
}

// most and least are tokens that the text may have.
func (t *textCount) most() int64  { return (t.words + t.signs + t.han + t.foreign + 99) / 100 }
func (t *textCount) least() int64 { return t.words*85/10_000 + (t.signs+t.han+t.foreign)*60/10_000 }

// EstimateText is about how many tokens a text has, rather too many than too few.
func EstimateText(s string) int64 {
	var t textCount
	for _, r := range s {
		t.rune(r)
	}
	t.endWord()
	return t.most()
}

// weight is that of a rune beyond ASCII.
func weight(r rune) int64 {
	switch {
	case r < 0x0250:
		return wAccented
	case r < 0x0300, r >= 0x2000 && r < 0x2070: // phonetic letters; punctuation, joiners
		return wJoiner
	case r < 0x0400, r >= 0x0530 && r < 0x0E00: // Greek, Armenian to Sinhala
		return wOther
	case r < 0x0530:
		return wCyrillic
	case r < 0x1100: // Thai to Georgian
		return wThai
	case r < 0x1200, r >= 0x3040 && r < 0x3400, r >= 0xAC00 && r < 0xD7B0, r >= 0xFF00 && r < 0xFFF0:
		return wKana
	case r >= 0x1E00 && r < 0x2000: // Vietnamese and old Greek
		return wAccented
	case r >= 0xD800 && r < 0xE000: // half of an escaped pair
		return wEmoji / 2
	case r >= 0x3000 && r < 0x3040, r >= 0x3400 && r < 0xA000, r >= 0xF900 && r < 0xFB00:
		return wHan
	case r >= 0xFE00 && r < 0xFE10, r >= 0x1F3FB && r < 0x1F400:
		return wJoiner
	case r >= 0x2190 && r < 0x2C00:
		return wEmoji
	}
	return wRare
}

// weighJSON counts the text inside a JSON string, without its
// quotes, as it stands in a document: escapes are one character each.
func weighJSON(p []byte) (t textCount) {
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case c == '\\':
			r, n := escaped(p[i:])
			t.rune(r)
			i += n
		case c < utf8.RuneSelf:
			t.ascii(c)
			i++
		default:
			r, n := utf8.DecodeRune(p[i:])
			t.rune(r)
			i += n
		}
	}
	return t
}

// escaped reads an escape: the character and how many bytes it takes. Of a
// surrogate pair the halves share the weight of an emoji.
func escaped(p []byte) (rune, int) {
	if len(p) < 2 {
		return ' ', len(p)
	}
	switch p[1] {
	case 'n', 'r':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'u':
		if len(p) < 6 {
			return ' ', len(p)
		}
		return hexRune(p[2:6]), 6
	}
	return rune(p[1] & 0x7f), 2
}

func hexRune(p []byte) (r rune) {
	for _, c := range p {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			r |= rune(c - 'A' + 10)
		}
	}
	return r
}
