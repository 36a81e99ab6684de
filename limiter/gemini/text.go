package gemini

import "unicode/utf8"

// Weights are hundredths of a token per character, on the high side of what
// Gemini's tokenizer makes of ordinary text, for each kind of script.
const (
	wLetter   = 30  // a-z: 4.2 letters a token in English, fewer in other languages
	wUpper    = 55  // capitals and mixed case break words up
	wDigit    = 100 // each digit is a token
	wSpace    = 12  // mostly joins the word behind it
	wNewline  = 60
	wSymbol   = 75
	wAccented = 100
	wCyrillic = 48
	wOther    = 70  // Greek, Hebrew, Arabic, Indic scripts
	wThai     = 90  // Thai, Lao, Khmer, Burmese: no spaces, few whole words
	wKana     = 100 // kana and Hangul
	wHan      = 110 // rare ones take up to three
	wRare     = 300 // falls back to bytes
	wEmoji    = 300
	wJoiner   = 100 // joiners, variation selectors and skin tones in emoji
)

// ascii has the weight of each ASCII character.
var ascii = func() (w [utf8.RuneSelf]uint8) {
	for c := range w {
		switch {
		case c >= 'a' && c <= 'z':
			w[c] = wLetter
		case c >= 'A' && c <= 'Z':
			w[c] = wUpper
		case c >= '0' && c <= '9':
			w[c] = wDigit
		case c == ' ':
			w[c] = wSpace
		case c == '\n', c == '\t', c == '\r':
			w[c] = wNewline
		default:
			w[c] = wSymbol
		}
	}
	return w
}()

// EstimateText is about how many tokens a text has, rather too many than too few.
func EstimateText(s string) int64 {
	var sum int64
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			sum += int64(ascii[c])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		sum += weight(r)
		i += n
	}
	return tokens(sum)
}

func tokens(hundredths int64) int64 { return (hundredths + 99) / 100 }

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
	case r >= 0x3000 && r < 0x3040, r >= 0x3400 && r < 0xA000, r >= 0xF900 && r < 0xFB00:
		return wHan
	case r >= 0xFE00 && r < 0xFE10, r >= 0x1F3FB && r < 0x1F400:
		return wJoiner
	case r >= 0x2190 && r < 0x2C00:
		return wEmoji
	}
	return wRare
}

// estimateJSON counts the text inside a JSON string, without its quotes, as it
// stands in a document: escapes are one character each.
func estimateJSON(p []byte) int64 {
	var sum int64
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case c == '\\':
			r, n := escaped(p[i:])
			sum += runeWeight(r)
			i += n
		case c < utf8.RuneSelf:
			sum += int64(ascii[c])
			i++
		default:
			r, n := utf8.DecodeRune(p[i:])
			sum += weight(r)
			i += n
		}
	}
	return sum
}

func runeWeight(r rune) int64 {
	if r >= 0 && r < utf8.RuneSelf {
		return int64(ascii[r])
	}
	return weight(r)
}

// escaped reads an escape: the character and how many bytes it takes. Of a
// surrogate pair the halves share the weight of an emoji.
func escaped(p []byte) (rune, int) {
	if len(p) < 2 {
		return ' ', len(p)
	}
	switch p[1] {
	case 'n', 'r', 't':
		return '\n', 2
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
