package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"nightshift/jobs"
	"nightshift/limiter"
)

// Nothing on the screen is told by colour: bold and reversed are all, which NO_COLOR and
// every eye leave alone.
const (
	bold    = "\x1b[1m"
	reverse = "\x1b[7m"
	normal  = "\x1b[0m"
)

// draw is the screen as text, cut to its size. Each part has the lines that the parts
// above it leave; the keys always stand below.
func (m watchScreen) draw() string {
	foot := m.foot()
	body := []string{"nightshift watch: looking …"}
	if m.seen != nil {
		body = m.body(max(0, m.height-len(foot)))
	}
	for len(body) < m.height-len(foot) {
		body = append(body, "")
	}
	lines := append(body[:max(0, min(len(body), m.height-len(foot)))], foot...)
	for i, l := range lines {
		lines[i] = m.fit(l)
	}
	return strings.Join(lines, "\n")
}

// fit cuts a line to the width; what is bold or reversed there ends with it.
func (m watchScreen) fit(l string) string {
	if text.StringWidthWithoutEscSequences(l) <= m.width {
		return l
	}
	return text.Trim(l, max(0, m.width-1)) + "…" + normal
}

func (m watchScreen) foot() []string {
	keys := "↑↓ run  p pause  r resume  c cancel  b pause bulk  B resume bulk  q quit"
	switch {
	case m.asked != nil:
		return []string{reverse + " " + m.asked.text + "  y = yes, any other key = no " + normal, keys}
	case m.err != nil:
		return []string{"! " + oneLine(m.err.Error()), keys}
	}
	return []string{oneLine(m.said), keys}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// body has at most so many lines: health and what to do, lanes, runs, queues, and events
// in what is left.
func (m watchScreen) body(most int) []string {
	v := m.seen
	lines := []string{
		fmt.Sprintf("%snightshift %s%s  %s  %s, %s open", bold, v.Project, normal, v.At.Local().Format("15:04:05 MST"), plural(len(v.Fleet), "worker"), plural(v.openRuns(), "run")),
		"health: " + healthSentence(v.Health, v.At),
	}
	for _, p := range together(v.Pauses, func(p *limiter.Pause) *string { return &p.Class }) {
		lines = append(lines, "paused: "+pauseSentence(&p, v.At))
	}
	for _, a := range v.Advice[:min(len(v.Advice), max(1, most/8))] {
		lines = append(lines, "→ "+advised(a))
	}
	left := most - len(lines)
	lanes := v.laneLines()
	lanesGet := min(len(lanes), max(3, left/3))
	lines = append(lines, section1("lanes", lanes, lanesGet)...)
	queues := v.queueLines()
	queues = section1("queues", queues, min(len(queues), max(0, left/5)))
	runsGet := max(3, most-len(lines)-len(queues)-2)
	lines = append(lines, section1("runs", m.runLines(runsGet), runsGet)...)
	if most-len(lines) >= len(queues) {
		lines = append(lines, queues...)
	}
	if rest := most - len(lines) - 2; rest > 0 {
		lines = append(lines, section1("what happened", v.eventLines(), rest)...)
	}
	return lines
}

func advised(a advice) string {
	if a.Command == "" {
		return a.Text
	}
	return a.Text + ": " + a.Command
}

func (v *overview) openRuns() (n int) {
	for _, r := range v.Runs {
		if r.counts.Open() > 0 {
			n++
		}
	}
	return n
}

// section1 is a part under its name, of as many lines as there is room for.
func section1(name string, lines []string, most int) []string {
	if len(lines) == 0 || most <= 0 {
		return nil
	}
	out := []string{"", bold + name + normal}
	if len(lines) > most {
		return append(append(out, lines[:most-1]...), fmt.Sprintf("  … %d more", len(lines)-most+1))
	}
	return append(out, lines...)
}

// laneLines are the limits, each with how full it is.
func (v *overview) laneLines() (out []string) {
	for _, l := range v.Lanes {
		waiting := int64(len(l.InPlace))
		for _, leaf := range l.Leaves {
			waiting += leaf.Waiting
		}
		for i, x := range l.Limits {
			name, note := "", ""
			if i == 0 {
				name, note = l.Lane.Model, fmt.Sprintf("  %d in flight, %s waiting", l.InFlight, humanize.Comma(waiting))
			}
			if x.Lowered != nil {
				note += "  " + loweredUntil(x, v.At)
			}
			out = append(out, fmt.Sprintf("%-22.22s %-10s %s %s%s", name, x.Name, gauge(x.Used, x.Effective, 10), howFull(x), note))
		}
	}
	return out
}

func howFull(x limiter.LimitState) string {
	amount := humanize.Comma
	if x.Unit == limiter.MicroUSD {
		amount = usd
	}
	return fmt.Sprintf("%4d %%  %s of %s", x.Used*100/max(x.Effective, 1), amount(x.Used), amount(x.Effective))
}

// gauge is a bar of so many signs.
func gauge(n, all int64, width int) string {
	full := int(min(n, all) * int64(width) / max(all, 1))
	return "[" + strings.Repeat("#", max(0, full)) + strings.Repeat("-", width-max(0, full)) + "]"
}

// runLines are the runs, those with rows to do first, from where on the chosen one is
// among the first most; it stands out.
func (m watchScreen) runLines(most int) (out []string) {
	runs := m.runs()
	at := m.at(runs)
	from := max(0, at-max(0, most-2))
	for i, r := range runs[from:] {
		c := r.counts
		eta := ""
		if r.ETA != nil {
			eta = ", done about " + cellClock(*r.ETA, m.seen.At)
		}
		line := fmt.Sprintf("%-20.20s %s %s of %s, %s; %s bad, %s running, %s waiting%s", orElse(r.Name, r.ID), gauge(c.Total()-c.Open(), c.Total(), 10),
			humanize.Comma(c.Total()-c.Open()), humanize.Comma(c.Total()), r.phase(), humanize.Comma(r.failed()), humanize.Comma(c[jobs.Running]),
			humanize.Comma(c[jobs.Queued]+c[jobs.Waiting]+c[jobs.RetryWait]), eta)
		if from+i == at {
			out = append(out, reverse+">"+line+normal)
		} else {
			out = append(out, " "+line)
		}
	}
	return out
}

// eventLines are the last events, the latest first.
func (v *overview) eventLines() (out []string) {
	for i := len(v.Events) - 1; i >= 0; i-- {
		e := v.Events[i]
		out = append(out, fmt.Sprintf("%s %s: %s", cellClock(e.Happened(), v.At), e.Kind, oneLine(eventText(e, time.Local))))
	}
	return out
}
