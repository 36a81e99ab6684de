package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
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
// Before one may stand the days on which it begins ("Mon-Fri 22:00-07:00@100%"),
// or these alone ("Sat-Sun@50%", the whole days). "in Europe/Berlin" at the end
// names the zone of these clocks; otherwise zone is, or UTC when that is nil.
// Times of day are to the minute. The error is a *WindowError.
func ParseWindow(field, text string, zone *time.Location) (Window, error) {
	return parseWindow(field, text, zone, false)
}

// ParseTimetable is ParseWindow for a run, whose rates may also be a fixed number
// of calls a minute: "22:00-07:00@100%, else @20rpm". Where it says nothing of the
// rest, nothing is done then; Window.Text says so.
func ParseTimetable(field, text string, zone *time.Location) (Window, error) {
	return parseWindow(field, text, zone, true)
}

func parseWindow(field, text string, zone *time.Location, fixed bool) (Window, error) {
	if zone == nil {
		zone = time.UTC
	}
	p := windowParser{field: field, text: text, fixed: fixed, w: Window{Text: text, zone: zone}}
	begin := 0
	for part := range strings.SplitSeq(text, ",") {
		p.part(part, begin)
		begin += len(part) + 1
	}
	if !p.others && fixed && p.err == nil {
		p.w.Text = closedOutside(text)
	} else if !p.others {
		p.fail(len(text), "", `say what holds outside, such as ", else @10%"`)
	}
	p.overlaps()
	if p.err != nil {
		return Window{}, p.err
	}
	return p.w, nil
}

// closedOutside says that nothing is done outside of a timetable's stretches, before
// the zone, which stands at the end.
func closedOutside(text string) string {
	text = strings.TrimRight(text, " \t")
	if at := strings.LastIndex(text, " in "); at > strings.LastIndex(text, ",") {
		return strings.TrimRight(text[:at], " \t") + ", else @0%" + text[at:]
	}
	return text + ", else @0%"
}

// windowParser keeps the first error.
type windowParser struct {
	field, text string
	fixed       bool // a number of calls a minute is a rate too
	w           Window
	others      bool  // w.other was said
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
	before, text, ok := strings.Cut(trimmed, "@")
	if !ok {
		p.fail(at, trimmed, "want FROM-TO@PERCENT%, or else @PERCENT%")
		return
	}
	rate := p.rate(text, at+len(before)+1)
	switch span := strings.TrimRight(before, " \t"); {
	case span != "else":
		p.span(span, at, rate)
	case p.others:
		p.fail(at, trimmed, "else is said twice")
	default:
		p.w.other, p.others = rate, true
	}
}

// zone takes "in ZONE" off the end of a part.
func (p *windowParser) zone(part string, at int) string {
	rest, name, ok := strings.Cut(part, " in ")
	if !ok {
		return part
	}
	at += len(rest) + len(" in ")
	at += len(name) - len(strings.TrimLeftFunc(name, unicode.IsSpace))
	name = strings.TrimSpace(name)
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		p.fail(at, name, "no such time zone; want a name such as Europe/Berlin")
		return rest
	}
	p.w.zone, p.w.named = zone, true
	return strings.TrimRight(rest, " \t")
}

// mostPerMinute bounds a fixed rate.
const mostPerMinute = 10_000_000

func (p *windowParser) rate(s string, at int) Rate {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent && err == nil && n >= 0 && n <= 100 {
		return Rate{PPM: int64(math.Round(n * million / 100))}
	}
	number, rpm := strings.CutSuffix(strings.TrimSpace(s), "rpm")
	calls, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	switch {
	case rpm && !p.fixed:
		p.fail(at, s, "a class has a share here, from 0% to 100%; a rate is for the window of one run")
	case rpm && err == nil && calls >= 1 && calls <= mostPerMinute:
		return Rate{PPM: million, PerMinute: calls}
	case p.fixed:
		p.fail(at, s, "want a percentage from 0% to 100%, or calls a minute as in 300rpm")
	default:
		p.fail(at, s, "want a percentage from 0% to 100%")
	}
	return Rate{}
}

func (p *windowParser) span(s string, at int, rate Rate) {
	days, clocks := p.days(s, at)
	part := windowPart{days: days, to: dayMinutes, rate: rate}
	if clocks != "" || days == everyDay {
		part.from, part.to = p.clocks(clocks, at+len(s)-len(clocks))
	}
	p.w.weekly = p.w.weekly || days != everyDay
	p.w.parts = append(p.w.parts, part)
	p.begins = append(p.begins, at)
}

func (p *windowParser) clocks(s string, at int) (from, to int) {
	first, second, ok := strings.Cut(s, "-")
	if !ok {
		p.fail(at, s, "want FROM-TO, such as 22:00-07:00")
		return 0, 0
	}
	from, to = p.clock(first, at), p.clock(second, at+len(first)+1)
	switch from {
	case to:
		p.fail(at, s, "is empty; the whole day is 00:00-24:00")
	case dayMinutes:
		p.fail(at, s, "a day begins at 00:00")
	}
	return from, to
}

const dayMinutes = 24 * 60

func (p *windowParser) clock(s string, at int) int {
	trimmed := strings.TrimSpace(s)
	at += strings.Index(s, trimmed)
	if s = trimmed; s == "24:00" {
		return dayMinutes
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		p.fail(at, s, "want a time of day from 00:00 to 24:00")
	}
	return t.Hour()*60 + t.Minute()
}

// overlaps finds a minute of the week that two stretches have.
func (p *windowParser) overlaps() {
	for i, a := range p.w.parts {
		for _, b := range p.w.parts[:i] {
			if a.meets(b) {
				p.fail(p.begins[i], p.text[p.begins[i]:], "overlaps an earlier stretch"+overnight(a, b))
			}
		}
	}
}

// overnight says how stretches of different days can overlap.
func overnight(a, b windowPart) string {
	if a.days&b.days == 0 {
		return ": a night belongs to the day on which it begins, so that Friday's ends on Saturday morning"
	}
	return ""
}

// meets looks at where each of two stretches begins: if they overlap, one of them
// begins within the other.
func (a windowPart) meets(b windowPart) bool {
	for day := range 7 {
		if b.days.has(day) && a.has(day, b.from) || a.days.has(day) && b.has(day, a.from) {
			return true
		}
	}
	return false
}
