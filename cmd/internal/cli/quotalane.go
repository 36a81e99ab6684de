package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// showLane is one lane: what holds it, its limits, who uses them, who waits, and
// where the figures come from.
func (o *showOptions) showLane(s limiter.LaneState) error {
	fmt.Fprintf(o.Out, "%s  %s in flight, %s waiting\n", s.Lane, humanize.Comma(s.InFlight), humanize.Comma(waiting(s)))
	o.printHolds(s)
	if err := o.print(limitTable(s.Limits, s.At, o.now()), s); err != nil {
		return err
	}
	o.printNotes("", s.Limits)
	section(o.Out, "classes", classTable(s.Limits))
	section(o.Out, "lines, the longest first", lineTable(whoWaits(s)))
	o.printWhy(s)
	return nil
}

// limitTable is how full each limit is.
func limitTable(limits []limiter.LimitState, at, now time.Time) *dataTable {
	t := newTable("LIMIT", "USED", "FULL", "ENFORCED", "SET", "BOOKED", "NEXT FREE", "SOURCE").numeric(1, 2, 3, 4, 5)
	for _, l := range limits {
		t.row(l.Name, amount(l.Unit, l.Used), percent(ratio(l.Used, l.Effective)), enforced(l), setWords(l),
			amount(l.Unit, l.Booked), nextFree(l, at, now), l.Source)
	}
	return t
}

// classTable is each class's part of each limit. Classes that neither use nor hold
// anything are left out, but for those that one looks for.
func classTable(limits []limiter.LimitState) *dataTable {
	t := newTable("CLASS", "LIMIT", "USED", "RESERVED", "LENT", "BORROWED", "ROOM").numeric(2, 3, 4, 5, 6)
	if len(limits) == 0 {
		return t
	}
	for i, class := range limits[0].Classes {
		name := class.Class
		for _, l := range limits {
			c := l.Classes[i]
			if c.Used == 0 && c.Protected == 0 && c.Class != "bulk" && c.Class != "interactive" {
				continue
			}
			t.row(name, l.Name, amount(l.Unit, c.Used), amount(l.Unit, c.Protected), amount(l.Unit, c.Lent),
				amount(l.Unit, borrowed(l)[i]), amount(l.Unit, c.Room))
			name = "" // said once
		}
	}
	return t
}

// borrowed is by class what it uses of what the classes above it lend: what would
// have to end if each of them claimed its guarantee now. The lowest class is taken
// to borrow first.
func borrowed(l limiter.LimitState) []int64 {
	out := make([]int64, len(l.Classes))
	missing := l.Used - l.Effective
	for _, c := range l.Classes {
		missing += max(c.Protected, c.Used) + c.Lent - c.Used
	}
	for i, c := range slices.Backward(l.Classes) {
		if c.Lent == 0 { // who lends does not borrow
			out[i] = max(0, min(missing, c.Used))
			missing -= out[i]
		}
	}
	return out
}

// mostLines bounds what quota show says of lines: a fleet may have hundreds.
const mostLines = 8

// lineTable is who waits.
func lineTable(leaves []limiter.LeafState) *dataTable {
	t := newTable("LINE", "CLASS", "WEIGHT", "SHARE", "WAITING", "REQUESTS", "INPUT TOKENS").numeric(2, 3, 4, 5, 6)
	leaves = slices.DeleteFunc(slices.Clone(leaves), func(l limiter.LeafState) bool { return l.Waiting == 0 })
	slices.SortStableFunc(leaves, func(a, b limiter.LeafState) int { return cmp.Compare(b.Waiting, a.Waiting) })
	for i, l := range leaves {
		if i == mostLines {
			t.row(fmt.Sprintf("and %d more", len(leaves)-i), "", "", "", "", "", "")
			break
		}
		weight, share := fmt.Sprint(l.Weight), limiter.Share(l.SharePPM)
		if l.SharePPM == 0 {
			weight, share = "", "in place"
		}
		t.row(lineName(l.Leaf), l.Class, weight, share, humanize.Comma(l.Waiting),
			humanize.Comma(l.Booked[limiter.Requests]), humanize.Comma(l.Booked[limiter.InputTokens]))
	}
	return t
}

// whoWaits are the lines of a lane, and the callers who wait in place with those
// of their path as one.
func whoWaits(s limiter.LaneState) []limiter.LeafState {
	out := slices.Clone(s.Leaves)
	for _, c := range s.InPlace {
		i := slices.IndexFunc(out, func(l limiter.LeafState) bool { return l.Class == c.Class && l.Leaf == c.Leaf && l.SharePPM == 0 })
		if i < 0 {
			i, out = len(out), append(out, limiter.LeafState{Class: c.Class, Leaf: c.Leaf})
		}
		out[i].Waiting++
		for u, n := range c.Amounts {
			out[i].Booked[u] += n
		}
	}
	return out
}

// lineName says whose a line is.
func lineName(leaf string) string {
	p := limiter.ParseLeaf(leaf)
	var parts []string
	for _, level := range []struct{ kind, id string }{
		{"organization", p.Organization}, {"tenant", p.Tenant}, {"team", p.Team}, {"key", p.Key}, {"run", p.Run}, {"", string(p.Priority)},
	} {
		if level.id != "" {
			parts = append(parts, strings.TrimSpace(level.kind+" "+level.id))
		}
	}
	return orElse(strings.Join(parts, ", "), "everybody")
}

// printWhy says where the shares come from: what is reserved for whom, and who
// may not use all there is. What holds for several limits is said once.
func (f *factory) printWhy(s limiter.LaneState) {
	type said struct{ class, why string }
	limits := map[said][]string{}
	var order []said
	for _, l := range s.Limits {
		for _, c := range l.Classes {
			if k := (said{c.Class, told(c.Why, f.now())}); c.Why != "" {
				if limits[k] == nil {
					order = append(order, k)
				}
				limits[k] = append(limits[k], l.Name)
			}
		}
	}
	if len(order) > 0 {
		fmt.Fprintln(f.Out)
	}
	for _, k := range order {
		fmt.Fprintf(f.Out, "%s (%s): %s\n", k.class, strings.Join(limits[k], ", "), k.why)
	}
}

// breakerLine is a breaker's sentence by this process's configuration.
func (f *factory) breakerLine(b *limiter.BreakerState) string {
	c, err := f.config()
	if err != nil {
		return b.String()
	}
	return c.breakerSentence(b, f.now())
}

// printHolds says what keeps a whole lane or class from starting.
func (f *factory) printHolds(s limiter.LaneState) {
	for _, b := range s.Breakers {
		fmt.Fprintln(f.Out, f.breakerLine(&b))
	}
	if c := s.Cooldown; c != nil {
		fmt.Fprintf(f.Out, "resting until %s: %s\n", clock(c.Until, f.now()), strings.TrimSpace(string(c.Reason)+" "+c.Detail))
	}
	for _, p := range together(s.Pauses, func(p *limiter.Pause) *string { return &p.Class }) {
		fmt.Fprintln(f.Out, pauseSentence(&p, f.now()))
	}
	for _, t := range together(s.Throttles, func(t *limiter.Throttle) *string { return &t.Class }) {
		fmt.Fprintln(f.Out, throttleSentence(t, f.now()))
	}
}

// nextFree is when the oldest use leaves, on our clock. Where more is used than the
// limit has, as in shadow or after it was lowered, that gives nobody room: then
// nothing is said.
func nextFree(l limiter.LimitState, at, now time.Time) string {
	switch {
	case l.NextFree.IsZero():
		return ""
	case l.Window == limiter.Day || l.Window == limiter.Month:
		return "all at " + clock(l.NextFree, now)
	case l.Used > l.Effective:
		return ""
	}
	if d := l.NextFree.Sub(at); d >= time.Second {
		return "in " + ago(d)
	}
	return "now"
}

// showLines is one line for each limit, for a log.
func (o *showOptions) showLines(v *quotaView) {
	at := v.At.Local().Format("15:04:05 MST")
	for _, s := range v.Lanes {
		o.showLine(at+" "+s.Lane.Model, s.Limits)
	}
	for _, s := range v.Nodes {
		o.showLine(at+" "+s.Node, s.Limits)
	}
}

func (o *showOptions) showLine(whose string, limits []limiter.LimitState) {
	for _, l := range limits {
		fmt.Fprintf(o.Out, "%s %s: %s of %s used", whose, l.Name, amount(l.Unit, l.Used), amount(l.Unit, l.Effective))
		borrowed := borrowed(l)
		for i, c := range l.Classes {
			if c.Used > 0 {
				fmt.Fprintf(o.Out, ", %s %s", c.Class, amount(l.Unit, c.Used))
			}
			if borrowed[i] > 0 {
				fmt.Fprintf(o.Out, " (%s borrowed)", amount(l.Unit, borrowed[i]))
			}
		}
		fmt.Fprintf(o.Out, "; %s booked\n", amount(l.Unit, l.Booked))
	}
}
