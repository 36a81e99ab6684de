package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bar is one thing that is measured, and what it has to be.
type bar struct {
	group  string // what it is about
	what   string
	source string // which source prints it
	at     place
	want   want
}

// source is a command whose output has the figures of one or several bars.
type source struct {
	dir   string   // from the module's root; "" is the root
	args  []string // the command
	env   []string // NAME=value
	quick change
	takes time.Duration // about, on two cores
}

// change is what makes a command short, for a look: arguments at its end and
// variables instead of the same ones.
type change struct {
	args, env []string
}

// want is the bound; without op there is none, and the figure is only reported.
type want struct {
	op    string // ≤ or ≥
	bound float64
}

func atMost(v float64) want  { return want{"≤", v} }
func atLeast(v float64) want { return want{"≥", v} }

func (x want) String() string {
	if x.op == "" {
		return ""
	}
	return x.op + " " + strconv.FormatFloat(x.bound, 'f', -1, 64)
}

func (x want) holds(v float64) bool {
	switch x.op {
	case "≤":
		return v <= x.bound
	case "≥":
		return v >= x.bound
	}
	return true
}

// place is where a figure stands in an output: a benchmark's metric, a cell of a table,
// or a test that has to pass.
type place struct {
	bench, unit string // of BenchmarkBench: what it reports in that unit
	title       string // a table's title has this in it …
	row, column string // … and the row begins, and the column is named, so
	nth         int    // number in the cell, from 0
	test        string // of TestTest: 1 if it passes
}

// metric is what a benchmark reports; the number of processors is no part of its name.
func metric(bench, unit string) place { return place{bench: bench, unit: unit} }

// cell is the first number of a cell.
func cell(title, row, column string) place { return place{title: title, row: row, column: column} }

// number is another number of the same cell.
func (p place) number(nth int) place { p.nth = nth; return p }

// passes is of tests whose bounds are in themselves.
func passes(test string) place { return place{test: test} }

func (p place) String() string {
	switch {
	case p.test != "":
		return "Test" + p.test
	case p.bench != "":
		return fmt.Sprintf("%s of Benchmark%s", p.unit, p.bench)
	}
	return fmt.Sprintf("row %q, column %q of %q", p.row, p.column, p.title)
}

// bound is what is wanted, for people.
func (b bar) bound() string {
	if b.at.test != "" {
		return "passes"
	}
	return b.want.String()
}

// command is the source as it is typed in the module's root.
func (s source) command(quick bool) string {
	args, env := s.line(quick)
	words := slices.Concat(env, args)
	for i, x := range words {
		if strings.ContainsAny(x, "^$|*() ") {
			words[i] = "'" + x + "'"
		}
	}
	text := strings.Join(words, " ")
	if s.dir != "" {
		return "cd " + s.dir + " && " + text
	}
	return text
}

func (s source) line(quick bool) (args, env []string) {
	args, env = append(args, s.args...), s.env
	if quick {
		args = append(args, s.quick.args...)
		if s.quick.env != nil {
			env = s.quick.env
		}
	}
	return args, env
}

// chosen are the bars that match.
func chosen(only *regexp.Regexp) (out []bar) {
	for _, b := range bars {
		if only.MatchString(b.group + "\n" + b.what + "\n" + b.source) {
			out = append(out, b)
		}
	}
	return out
}
