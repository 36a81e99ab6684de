package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// output is what a source printed, taken apart.
type output struct {
	text    string
	metrics map[string]map[string]float64 // benchmark → unit → value
	tables  []table
}

type table struct {
	title string
	head  []string
	rows  [][]string
}

var (
	nameAlone   = regexp.MustCompile(`^Benchmark\S+\s*$`)
	resultAlone = regexp.MustCompile(`^\s+\d+\t.*\s\S+\s*$`)
	processors  = regexp.MustCompile(`-\d+$`)
	ruler       = regexp.MustCompile(`^\|[-:| ]+\|$`)
	anyNumber   = regexp.MustCompile(`-?\d[\d,]*(?:\.\d+)?`)
)

func readOutput(text string) (output, error) {
	o := output{text: text, metrics: map[string]map[string]float64{}, tables: tablesOf(text)}
	r := benchfmt.NewReader(strings.NewReader(rejoined(text)), "")
	for r.Scan() {
		x, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue // lines of ours that look like a result and are none
		}
		name := processors.ReplaceAllString(string(bytes.Clone(x.Name.Full())), "")
		if o.metrics[name] == nil {
			o.metrics[name] = map[string]float64{}
		}
		for _, v := range x.Values {
			unit, value := v.Unit, v.Value
			if v.OrigUnit != "" {
				unit, value = v.OrigUnit, v.OrigValue
			}
			o.metrics[name][unit] = value
		}
	}
	return o, r.Err()
}

// rejoined brings a benchmark's name and its result together again where it printed
// something between them.
func rejoined(text string) string {
	var out []string
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case nameAlone.MatchString(line):
			name = strings.TrimSpace(line)
		case name != "" && resultAlone.MatchString(line):
			out = append(out, name+" "+strings.TrimSpace(line))
			name = ""
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// tablesOf are the Markdown tables with the line before each as its title.
func tablesOf(text string) (out []table) {
	said, before := "", "" // the latest line of words, and the latest of all
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case ruler.MatchString(line) && strings.HasPrefix(before, "|"):
			out, inside = append(out, table{title: said, head: cells(before)}), true
		case inside && strings.HasPrefix(line, "|"):
			t := &out[len(out)-1]
			t.rows = append(t.rows, cells(line))
		case line != "" && !strings.HasPrefix(line, "|"):
			said, inside = line, false
		case line == "":
			inside = false
		}
		before = line
	}
	return out
}

func cells(line string) []string {
	parts := strings.Split(strings.Trim(line, "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(parts[i], "*", ""))
	}
	return parts
}

// errNotThere says that an output lacks what a bar needs.
var errNotThere = errors.New("not printed")

// find gives the figure at a place.
func (o output) find(p place) (float64, error) {
	switch {
	case p.test != "":
		return o.verdict(p.test)
	case p.bench != "":
		if v, ok := o.metrics[p.bench][p.unit]; ok {
			return v, nil
		}
		return 0, fmt.Errorf("%w: %s", errNotThere, p)
	}
	return o.cell(p)
}

func (o output) cell(p place) (float64, error) {
	for _, t := range o.tables {
		column := -1
		for i, h := range t.head {
			if h == p.column {
				column = i
			}
		}
		for _, row := range t.rows {
			if !strings.Contains(t.title, p.title) || column < 0 || column >= len(row) || !strings.HasPrefix(row[0], p.row) {
				continue
			}
			if all := anyNumber.FindAllString(row[column], -1); p.nth < len(all) {
				return parseNumber(all[p.nth])
			}
		}
	}
	return 0, fmt.Errorf("%w: %s", errNotThere, p)
}

// verdict is 1 where the test, or all that match it, passed.
func (o output) verdict(test string) (float64, error) {
	ended := regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): Test` + test + ` `)
	found := ended.FindAllStringSubmatch(o.text, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("%w: Test%s", errNotThere, test)
	}
	for _, m := range found {
		switch m[1] {
		case "FAIL":
			return 0, nil
		case "SKIP":
			return 0, fmt.Errorf("%w: Test%s was left out", errNotThere, test)
		}
	}
	return 1, nil
}
