package jobs

import "unicode"

// truncate keeps at most n characters of s. What belongs to the character
// before it (accents, variation selectors, skin tones, what a zero-width joiner
// joins, the second half of a flag) is never cut from it.
func truncate(s string, n int) string {
	rs := []rune(s)
	if n < 0 {
		n = 0
	}
	if len(rs) <= n {
		return s
	}
	for n > 0 && joined(rs, n) {
		n--
	}
	return string(rs[:n])
}

const joiner = '\u200d'

// joined says that no cut may be made before rs[i].
func joined(rs []rune, i int) bool {
	r := rs[i]
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc), r == joiner, rs[i-1] == joiner:
		return true
	case r >= 0x1F3FB && r <= 0x1F3FF, r >= 0xE0020 && r <= 0xE007F: // skin tones, tags of regional flags
		return true
	case r == '\n' && rs[i-1] == '\r':
		return true
	}
	return isFlagHalf(r) && flagHalves(rs[:i])%2 == 1
}

func isFlagHalf(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// flagHalves counts those at the end.
func flagHalves(rs []rune) int {
	n := 0
	for n < len(rs) && isFlagHalf(rs[len(rs)-1-n]) {
		n++
	}
	return n
}
