package geminitest

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// matching gives a string that a pattern matches, of a length that the schema
// allows when some tries find one. A pattern that Go cannot read gives a word.
func (w *writer) matching(pattern string, s *schema) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	re, err2 := regexp.Compile(pattern)
	if err != nil || err2 != nil {
		return w.word()
	}
	const tries = 200
	var text string
	for range tries {
		var b strings.Builder
		w.unparse(&b, parsed)
		text = b.String()
		n := len([]rune(text))
		if re.MatchString(text) && n >= int(s.MinLength) && (s.MaxLength == nil || n <= int(*s.MaxLength)) {
			break
		}
	}
	return text
}

// unparse writes something that the expression matches.
func (w *writer) unparse(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(w.oneOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(rune('a' + w.rng.IntN(26)))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.unparse(b, sub)
		}
	case syntax.OpAlternate:
		w.unparse(b, re.Sub[w.rng.IntN(len(re.Sub))])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		for range w.repeats(re) {
			w.unparse(b, re.Sub[0])
		}
	}
}

func (w *writer) repeats(re *syntax.Regexp) int {
	low, high := re.Min, re.Max
	switch re.Op {
	case syntax.OpStar:
		low, high = 0, 6
	case syntax.OpPlus:
		low, high = 1, 6
	case syntax.OpQuest:
		low, high = 0, 1
	}
	if high < 0 {
		high = low + 6
	}
	return low + w.rng.IntN(high-low+1)
}

// oneOf picks from a class, given as pairs of first and last; printable ASCII
// when it has any.
func (w *writer) oneOf(class []rune) rune {
	var pool []rune
	for i := 0; i+1 < len(class); i += 2 {
		for r := max(class[i], ' '); r <= min(class[i+1], '~'); r++ {
			pool = append(pool, r)
		}
	}
	if len(pool) == 0 {
		return class[0]
	}
	return pool[w.rng.IntN(len(pool))]
}
