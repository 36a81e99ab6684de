package jobs

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// PickFilter chooses differences; all of its terms must hold.
type PickFilter []func(Difference) bool

var changeTerm = regexp.MustCompile(`^change\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*%?$`)

// ParsePickFilter reads terms between commas:
//
//	all                    everything that changed or came
//	field=title            a field by its name
//	status=changed         changed or added
//	change>50%             by how much changed: of words, or of a number
//	id=7, ids=@FILE        one row, or those whose ids are in a file, one a line
//	new~REGEXP, live~…     by what a value says; the rest of the text is the expression
func ParsePickFilter(s string) (PickFilter, error) {
	var f PickFilter
	for _, term := range filterTerms(s) {
		one, err := pickTerm(term)
		if err != nil {
			return nil, err
		}
		f = append(f, one)
	}
	if len(f) == 0 {
		return nil, fmt.Errorf("an empty filter; `all` takes everything that changed")
	}
	return f, nil
}

// filterTerms are what stands between the commas; an expression goes on to the end.
func filterTerms(s string) (terms []string) {
	for s != "" {
		term, rest, _ := strings.Cut(s, ",")
		if side := strings.TrimSpace(s); strings.HasPrefix(side, "new~") || strings.HasPrefix(side, "live~") {
			term, rest = side, ""
		}
		terms, s = append(terms, strings.TrimSpace(term)), rest
	}
	return terms
}

// FilterFields are the fields that a filter names with field=NAME.
func FilterFields(s string) (names []string) {
	for _, term := range filterTerms(s) {
		if name, ok := strings.CutPrefix(term, "field="); ok {
			names = append(names, name)
		}
	}
	return names
}

func pickTerm(term string) (func(Difference) bool, error) {
	if m := changeTerm.FindStringSubmatch(term); m != nil {
		most, err := strconv.ParseFloat(m[2], 64)
		return func(x Difference) bool { return compared(x.Percent(), m[1], most) }, err
	}
	if side, expr, ok := strings.Cut(term, "~"); ok && (side == "new" || side == "live") {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", term, err)
		}
		return func(x Difference) bool {
			if side == "new" {
				return re.MatchString(textOf(x.New))
			}
			return re.MatchString(textOf(x.Live))
		}, nil
	}
	name, value, _ := strings.Cut(term, "=")
	switch {
	case term == "all":
		return func(Difference) bool { return true }, nil
	case name == "field" && value != "":
		return func(x Difference) bool { return x.Field == value || x.Column == value }, nil
	case name == "status" && (value == string(Changed) || value == string(Added)):
		return func(x Difference) bool { return string(x.Change) == value }, nil
	case name == "id" && strings.HasPrefix(value, "@"):
		return nil, fmt.Errorf("%s: ids=@FILE takes the ids of a file", term)
	case name == "id" && value != "":
		return func(x Difference) bool { return x.Row == value }, nil
	case name == "ids" && strings.HasPrefix(value, "@"):
		return idsTerm(value[1:])
	}
	return nil, fmt.Errorf("%q: a filter is of field=NAME, status=changed|added, change>50%%, id=ID, ids=@FILE, new~REGEXP, live~REGEXP, or all", term)
}

func compared(a float64, op string, b float64) bool {
	switch op {
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return a <= b
}

func idsTerm(path string) (func(Difference) bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if id := strings.TrimSpace(line); id != "" {
			ids[id] = true
		}
	}
	return func(x Difference) bool { return ids[x.Row] }, nil
}

// Takes says that all of the filter holds.
func (f PickFilter) Takes(x Difference) bool {
	for _, one := range f {
		if !one(x) {
			return false
		}
	}
	return true
}
