package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// printTable gives how many bars were missed or have no figure.
func printTable(w io.Writer, results []result, m machine, quick bool) (missed int) {
	fmt.Fprintf(w, "%s\n\n", m.line())
	if quick {
		fmt.Fprintf(w, "Measured with --quick: small inputs and few rounds; no claim rests on these figures.\n\n")
	}
	fmt.Fprintf(w, "| of | what | measured | bound | |\n|---|---|---|---|---|\n")
	open, without := 0, 0
	for _, r := range results {
		verdict := r.verdict()
		switch {
		case r.err != nil:
			without++
		case !r.want.holds(r.value):
			missed++
		case r.want.op == "":
			open++
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", r.group, r.what, r.figure(), r.bound(), verdict)
	}
	fmt.Fprintf(w, "\n%d bars: %d held, %d missed, %d without a figure, %d without a bound.\n", len(results), len(results)-missed-without-open, missed, without, open)
	printCommands(w, results, quick)
	return missed + without
}

func (r result) figure() string {
	switch {
	case r.err != nil:
		return "–"
	case r.at.test != "" && r.value == 1:
		return "passes"
	case r.at.test != "":
		return "fails"
	}
	return figure(r.value)
}

func (r result) verdict() string {
	switch {
	case r.err != nil:
		return "**no figure**: " + strings.NewReplacer("|", "/", "\n", " ").Replace(r.err.Error())
	case r.want.op == "":
		return ""
	case r.want.holds(r.value):
		return "held"
	}
	return "**missed**"
}

// figure has four digits that count, or all before the point.
func figure(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (m machine) line() string {
	text := fmt.Sprintf("%s: %s, %d cores, %s/%s; load %s before and %s after (the benchmarks' own); %s, Redis %s, commit %s; %s. It took %s.",
		m.began.UTC().Format("2006-01-02 15:04 MST"), m.cpu, m.cores, runtime.GOOS, runtime.GOARCH, orUnknown(m.before), orUnknown(m.after),
		runtime.Version(), m.redis, m.commit, strings.Join(m.modules, ", "), m.took.Round(time.Second))
	return text
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// printCommands lists each source once, with the groups that it gives figures for.
func printCommands(w io.Writer, results []result, quick bool) {
	fmt.Fprintf(w, "\n| of | command |\n|---|---|\n")
	var order []string
	groups := map[string][]string{}
	for _, r := range results {
		if _, seen := groups[r.source]; !seen {
			order = append(order, r.source)
		}
		if list := groups[r.source]; len(list) == 0 || list[len(list)-1] != r.group {
			groups[r.source] = append(list, r.group)
		}
	}
	for _, name := range order {
		fmt.Fprintf(w, "| %s | `%s` |\n", strings.Join(groups[name], ", "), strings.ReplaceAll(sources[name].command(quick), "|", `\|`))
	}
}

func printList(w io.Writer, list []bar) {
	var whole time.Duration
	seen := map[string]bool{}
	fmt.Fprintf(w, "| of | what | bound | where | command | about |\n|---|---|---|---|---|---|\n")
	for _, b := range list {
		s := sources[b.source]
		if !seen[b.source] {
			seen[b.source], whole = true, whole+s.takes
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | `%s` | %s |\n", b.group, b.what, b.bound(), b.at, strings.ReplaceAll(s.command(false), "|", `\|`), s.takes)
	}
	fmt.Fprintf(w, "\n%d bars of %d commands, about %s.\n", len(list), len(seen), whole)
}
