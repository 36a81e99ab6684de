package geminitest

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number keeps to the bounds; without any, a share is between 0 and 1 and
// everything else small.
func (w *writer) number(name string, s *schema, whole bool) float64 {
	low, high := 1.0, 10.0
	if containsAny(name, "score", "confidence", "probability", "share", "ratio") {
		low, high = 0, 1
	}
	step := 0.01
	if whole {
		step = 1
	}
	if s.MultipleOf > 0 {
		step = s.MultipleOf
	}
	low, high = bounds(s, low, high, step)
	n := math.Floor((high-low)/step + 1e-9)
	x := low + step*float64(w.rng.Int64N(int64(max(n, 0))+1))
	if s.MultipleOf > 0 || whole {
		x = math.Ceil(x/step-1e-9) * step
	}
	return math.Round(min(x, high)*1e6) / 1e6
}

func bounds(s *schema, low, high, step float64) (float64, float64) {
	width := high - low
	bound := func(p, exclusive *float64, sign float64) *float64 {
		if exclusive == nil {
			return p
		}
		x := *exclusive + sign*step
		return &x
	}
	least, most := bound(s.Minimum, s.ExclusiveMinimum, 1), bound(s.Maximum, s.ExclusiveMaximum, -1)
	switch {
	case least != nil && most != nil:
		return *least, *most
	case least != nil:
		return max(*least, low), max(*least, low) + width
	case most != nil:
		return min(low, *most), min(high, *most)
	}
	return low, high
}

// str writes a string of the right kind, by format and pattern, else by name.
func (w *writer) str(name string, s *schema) string {
	text := w.byFormat(s)
	if text == "" {
		text = w.byName(strings.ToLower(name), s.MaxLength)
	}
	for s.Pattern == "" && utf8.RuneCountInString(text) < int(s.MinLength) {
		text += " " + w.word()
	}
	if s.MaxLength != nil && utf8.RuneCountInString(text) > int(*s.MaxLength) {
		text = string([]rune(text)[:*s.MaxLength])
	}
	return text
}

func (w *writer) byFormat(s *schema) string {
	if s.Pattern != "" {
		return w.matching(s.Pattern, s)
	}
	switch s.Format {
	case "date-time":
		return "2026-11-0" + strconv.Itoa(1+w.rng.IntN(9)) + "T08:30:00Z"
	case "date":
		return "2026-11-0" + strconv.Itoa(1+w.rng.IntN(9))
	case "time":
		return "08:30:00Z"
	case "duration":
		return "PT" + strconv.Itoa(1+w.rng.IntN(59)) + "M"
	case "email":
		return "info@example.com"
	case "uri":
		return "https://example.com/" + strconv.Itoa(w.rng.IntN(1000))
	case "uuid":
		const hex = "0123456789abcdef"
		id := []byte("xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx")
		for i := range id {
			if id[i] == 'x' {
				id[i] = hex[w.rng.IntN(len(hex))]
			}
		}
		return string(id)
	}
	return ""
}

func (w *writer) byName(name string, most *flexInt) string {
	switch {
	case (name == "id" || strings.HasSuffix(name, "_id") || name == "sku") && w.id != "":
		return w.id
	case containsAny(name, "lang", "locale"):
		return w.lang.code
	case containsAny(name, "title", "headline", "subject"):
		return w.word() + " " + w.word()
	case containsAny(name, "tag", "keyword", "label", "name", "topic", "category", "word"):
		return w.word()
	case most != nil && *most < 40:
		return w.word()
	}
	return w.lang.mark + w.sentence()
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
