package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// WindowError says what is wrong with a work window, and where.
type WindowError struct {
	Field   string // "windows.bulk"
	At      int    // the character, from 1
	Part    string // what stands there
	Problem string
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("%s: character %d: %q: %s", e.Field, e.At, e.Part, e.Problem)
}

// ParseWindow reads "22:00-07:00@100%, else @10%": stretches of the day, each
// with the share that the class may use of every limit, and the share outside of
// them, which must be said. Stretches may go over midnight and may not overlap.
// "in Europe/Berlin" at the end names the zone of these clocks; otherwise zone
// is, or UTC when that is nil. Times of day are to the minute. The error is a
// *WindowError.
func ParseWindow(field, text string, zone *time.Location) (Window, error) {
	if zone == nil {
		zone = time.UTC
	}
	p := windowParser{field: field, text: text, w: Window{Text: text, zone: zone, other: -1}}
	begin := 0
	for part := range strings.SplitSeq(text, ",") {
		p.part(part, begin)
		begin += len(part) + 1
	}
	if p.w.other < 0 {
		p.fail(len(text), "", `say what holds outside, such as ", else @10%"`)
	}
	p.overlaps()
	if p.err != nil {
		return Window{}, p.err
	}
	return p.w, nil
}

// windowParser keeps the first error.
type windowParser struct {
	field, text string
	w           Window
	begins      []int // of w.parts, in bytes
	err         error
}

func (p *windowParser) fail(at int, part, problem string) {
	if p.err == nil {
		p.err = &WindowError{p.field, utf8.RuneCountInString(p.text[:at]) + 1, part, problem}
	}
}

func (p *windowParser) part(part string, at int) {
	trimmed := strings.TrimLeft(part, " \t")
	at += len(part) - len(trimmed)
	trimmed = p.zone(strings.TrimRight(trimmed, " \t"), at)
	before, percent, ok := strings.Cut(trimmed, "@")
	if !ok {
		p.fail(at, trimmed, "want FROM-TO@PERCENT%, or else @PERCENT%")
		return
	}
	ppm := p.percent(percent, at+len(before)+1)
	switch span := strings.TrimRight(before, " \t"); {
	case span != "else":
		p.span(span, at, ppm)
	case p.w.other >= 0:
		p.fail(at, trimmed, "else is said twice")
	default:
		p.w.other = ppm
	}
}

// zone takes "in ZONE" off the end of a part.
func (p *windowParser) zone(part string, at int) string {
	rest, name, ok := strings.Cut(part, " in ")
	if !ok {
		return part
	}
	name = strings.TrimSpace(name)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		p.fail(at+strings.Index(part, " in ")+4, name, "no such time zone; want a name such as Europe/Berlin")
		return rest
	}
	p.w.zone = zone
	return strings.TrimRight(rest, " \t")
}

func (p *windowParser) percent(s string, at int) int64 {
	number, ok := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || math.IsNaN(n) || n < 0 || n > 100 {
		p.fail(at, s, "want a percentage from 0% to 100%")
		return 0
	}
	return int64(math.Round(n * million / 100))
}

func (p *windowParser) span(s string, at int, ppm int64) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		p.fail(at, s, "want FROM-TO, such as 22:00-07:00")
		return
	}
	part := windowPart{p.clock(from, at), p.clock(to, at+len(from)+1), ppm}
	switch part.from {
	case part.to:
		p.fail(at, s, "is empty; the whole day is 00:00-24:00")
	case dayMinutes:
		p.fail(at, s, "a day begins at 00:00")
	}
	p.w.parts = append(p.w.parts, part)
	p.begins = append(p.begins, at)
}

const dayMinutes = 24 * 60

func (p *windowParser) clock(s string, at int) int {
	s = strings.TrimSpace(s)
	if s == "24:00" {
		return dayMinutes
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		p.fail(at, s, "want a time of day from 00:00 to 24:00")
	}
	return t.Hour()*60 + t.Minute()
}

func (p *windowParser) overlaps() {
	for i, a := range p.w.parts {
		for _, b := range p.w.parts[:i] {
			if a.has(b.from) || b.has(a.from) {
				p.fail(p.begins[i], p.text[p.begins[i]:], "overlaps an earlier stretch")
			}
		}
	}
}
