package limiter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// disagreement is the time in which limits that are changed and changed back look
// like two processes with different configurations, not like second thoughts.
const disagreement = 10 * time.Minute

// setting is one setting of a configuration, for people.
type setting struct{ name, value string }

// changes are the events of a configuration that replaces another; none when it
// says the same.
func changes(before, after Config) []Event {
	var out []Event
	note := func(subject, name string, from, to []setting) {
		if slices.Equal(from, to) {
			return
		}
		text := difference(from, to)
		if len(to) == 0 && subject != name { // a lane or a class; nodes and weights are there without being configured
			text = "no longer configured"
		}
		out = append(out, Event{Kind: EventLimits, Subject: subject, By: after.By, Text: name + ": " + text,
			Data: map[string]string{"from": list(from), "to": list(to)}})
	}
	for _, l := range before.lanesWith(after) {
		note(l.String(), l.Model, before.laneSettings(l), after.laneSettings(l))
	}
	for _, name := range before.classesWith(after) {
		if len(before.Classes) == 0 {
			break // a new scope: its limits say enough
		}
		note("class "+name, name, before.classSettings(name), after.classSettings(name))
	}
	for _, node := range before.nodesWith(after) {
		note(node, node, before.nodeSettings(node), after.nodeSettings(node))
	}
	note("classes", "order of classes", before.order(after), after.order(before))
	note("weights", "weights", before.weightSettings(), after.weightSettings())
	return out
}

// overridden are the events of values that were set over a configuration.
func overridden(before, after Config, ch Change) []Event {
	after.By = ch.who()
	events := changes(before, after)
	for i := range events {
		e := &events[i]
		how := ch.how(e.Subject)
		e.Text += " (" + how + ")"
		e.Data["how"] = how
		if why := ch.why(e.Subject); why != "" {
			e.Text += ": " + why
		}
	}
	return events
}

// difference says what changed: "rpm 60 → 120, rpd none → 1000".
func difference(from, to []setting) string {
	if len(from) == 0 {
		return list(to)
	}
	var out []string
	for _, name := range names(from, to) {
		if a, b := valueOf(from, name), valueOf(to, name); a != b {
			out = append(out, name+" "+cmp.Or(a, "none")+" → "+cmp.Or(b, "none"))
		}
	}
	return strings.Join(out, ", ")
}

// names are those of both lists, each once.
func names(lists ...[]setting) (out []string) {
	for _, s := range slices.Concat(lists...) {
		if !slices.Contains(out, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

func valueOf(list []setting, name string) string {
	for _, s := range list {
		if s.name == name {
			return s.value
		}
	}
	return ""
}

func list(settings []setting) string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = s.name + " " + s.value
	}
	return strings.Join(out, ", ")
}

// against turns a change that goes back to recent limits into an alert: who
// started with other limits than the process before it should know of that one.
// What people set and unset is no disagreement.
func (e Event) against(recent []Event) Event {
	if e.Data["how"] != "" {
		return e
	}
	recent = slices.DeleteFunc(slices.Clone(recent), func(r Event) bool {
		return r.Subject != e.Subject || r.Data["from"] == r.Data["to"] || r.Data["how"] != ""
	})
	back := slices.ContainsFunc(recent, func(r Event) bool { return r.Data["from"] == e.Data["to"] })
	if !back {
		return e
	}
	other := recent[len(recent)-1].By
	if other == e.By && e.By != "" {
		return e // second thoughts of one and the same
	}
	name, what, _ := strings.Cut(e.Text, ": ")
	theirs, ours := e.sides(what)
	e.Kind = EventAlert
	e.Text = fmt.Sprintf("two processes disagree about the limits of %s: %s (%s) and %s (%s)",
		name, ours, cmp.Or(e.By, "unknown"), theirs, cmp.Or(other, "unknown"))
	return e
}

// sides splits "rpm 60 → 120, rpd 10 → 20" into "60, 10" and "rpm 120, rpd 20".
func (e Event) sides(difference string) (from, to string) {
	if e.Data["from"] == "" || e.Data["to"] == "" {
		return cmp.Or(e.Data["from"], "none"), cmp.Or(e.Data["to"], "none")
	}
	var a, b []string
	for part := range strings.SplitSeq(difference, ", ") {
		was, is, _ := strings.Cut(part, " → ")
		at := strings.LastIndexByte(was, ' ')
		a, b = append(a, was[at+1:]), append(b, was[:at+1]+is)
	}
	return strings.Join(a, ", "), strings.Join(b, ", ")
}

// lanesWith are the lanes of either configuration, this one's first.
func (c Config) lanesWith(o Config) []Lane {
	var out []Lane
	for _, l := range slices.Concat(c.Lanes, o.Lanes) {
		same := func(x Lane) bool { return x.String() == l.Lane.String() }
		if !slices.ContainsFunc(out, same) {
			out = append(out, l.Lane)
		}
	}
	return out
}

func (c Config) laneSettings(lane Lane) []setting {
	for _, l := range c.Lanes {
		if l.Lane.String() != lane.String() {
			continue
		}
		out := []setting{{"lend", cmp.Or(l.Lend, "auto")}, {"outside", percent(l.OutsidePPM)}}
		return append(append(out, l.Limits.settings()...), c.shadowSettings(lane.String())...)
	}
	return nil
}

func (l Limits) settings() (out []setting) {
	for _, x := range l.List() {
		out = append(out, setting{x.Name(), x.amount()})
	}
	return out
}

// amount is a limit's amount for people: money in dollars.
func (l Limit) amount() string {
	if l.Amount == Unlimited {
		return "none"
	}
	if l.Unit == MicroUSD {
		return dollars(l.Amount)
	}
	return strconv.FormatInt(l.Amount, 10)
}

func (c Config) shadowSettings(node string) []setting {
	if len(c.Shadow[node]) == 0 {
		return nil
	}
	return []setting{{"in shadow", strings.Join(c.Shadow[node], " and ")}}
}

// nodesWith are the nodes of either configuration.
func (c Config) nodesWith(o Config) []string {
	seen := map[string]bool{}
	for _, m := range []map[string]Limits{c.Nodes, o.Nodes} {
		for node := range m {
			seen[node] = true
		}
	}
	for _, m := range []map[string][]string{c.Shadow, o.Shadow} {
		for node := range m {
			seen[node] = seen[node] || c.laneAt(node) < 0 && o.laneAt(node) < 0
		}
	}
	maps.DeleteFunc(seen, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(seen))
}

func (c Config) nodeSettings(node string) []setting {
	l := c.Nodes[node]
	return append(l.settings(), c.shadowSettings(node)...)
}

func (c Config) classesWith(o Config) []string {
	var out []string
	for _, x := range slices.Concat(c.Classes, o.Classes) {
		if !slices.Contains(out, x.Name) {
			out = append(out, x.Name)
		}
	}
	return out
}

func (c Config) classSettings(name string) []setting {
	i := slices.IndexFunc(c.Classes, func(x Class) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	x := c.Classes[i]
	return []setting{
		{"guarantee", percent(x.GuaranteePPM)}, {"floor", percent(x.FloorPPM)}, {"trickle", percent(x.TricklePPM)},
		{"cap", percent(x.CapPPM)}, {"output floor", percent(x.OutputFloorPPM)}, {"max wait", x.MaxWait.String()},
		{"pausable", strconv.FormatBool(x.Pausable)}, {"smooth", strconv.FormatBool(x.Smooth)},
		{"tickets", strconv.FormatBool(x.Tickets)}, {"fallback", cmp.Or(x.Fallback, "none")},
	}
}

// order is that of the classes which both have; nothing when one has none at all.
func (c Config) order(o Config) []setting {
	var out []string
	for _, x := range c.Classes {
		if len(o.classSettings(x.Name)) > 0 {
			out = append(out, x.Name)
		}
	}
	return []setting{{"", strings.Join(out, " > ")}}
}

func (c Config) weightSettings() (out []setting) {
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		out = append(out, setting{name, strconv.FormatInt(c.Weights[name], 10)})
	}
	return out
}

// percent is a share for people: "10 %", "2.5 %".
func percent(ppm int64) string {
	return strconv.FormatFloat(float64(ppm)/10_000, 'f', -1, 64) + " %"
}
