package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many problems an InputError lists; the rest are counted.
const MaxProblems = 20

// Problem is one thing that is wrong with the input.
type Problem struct {
	File    string
	Line    int // 0: the whole file
	Column  int // in characters, 0: the whole line
	Element int // of a JSON array, from 1; 0: not one
	Row     string
	Field   string
	What    string
	Remedy  string
}

// Error is "file:line:column: row, field: what (remedy)".
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.place())
	switch {
	case p.Row != "" && p.Field != "":
		fmt.Fprintf(&b, "row %q, field %q: ", p.Row, p.Field)
	case p.Row != "":
		fmt.Fprintf(&b, "row %q: ", p.Row)
	case p.Field != "":
		fmt.Fprintf(&b, "field %q: ", p.Field)
	}
	b.WriteString(p.What)
	if p.Remedy != "" {
		b.WriteString("\n    " + p.Remedy)
	}
	return b.String()
}

func (p *Problem) place() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	if p.Column > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Column)
	}
	switch {
	case p.Element > 0:
		return fmt.Sprintf("%s (element %d): ", s, p.Element)
	case s == "":
		return ""
	}
	return s + ": "
}

// InputError says all that is wrong with an input. Nothing was enqueued.
type InputError struct {
	Problems []Problem // the first MaxProblems, by line; what ended the reading comes first
	Total    int
}

func (e *InputError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for i := range e.Problems {
		lines = append(lines, e.Problems[i].Error())
	}
	if more := e.Total - len(e.Problems); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong while reading goes on.
type problems struct {
	file string
	list InputError
}

func (ps *problems) add(p Problem) {
	ps.list.Total++
	if len(ps.list.Problems) < MaxProblems {
		p.File = cmp.Or(p.File, ps.file)
		ps.list.Problems = append(ps.list.Problems, p)
	}
}

// addFatal puts what ended the reading first: it may explain the others, and
// must not fall to the cap.
func (ps *problems) addFatal(p Problem) {
	p.File = cmp.Or(p.File, ps.file)
	ps.list.Total++
	ps.list.Problems = slices.Insert(ps.list.Problems, 0, p)
	ps.list.Problems = ps.list.Problems[:min(len(ps.list.Problems), MaxProblems)]
}

// err is nil while nothing is wrong.
func (ps *problems) err() error {
	if ps.list.Total == 0 {
		return nil
	}
	return &ps.list
}
