package limiter

import (
	"encoding/json"
	"fmt"
	"strings"
)

// arrays reads the integer arrays of an answer; the first failure sticks.
type arrays struct{ err error }

func (a *arrays) read(v any) []int64 {
	var n []int64
	if s := text(v); s != "" && a.err == nil {
		a.err = json.Unmarshal([]byte(s), &n)
	}
	return n
}

// readView reads state.lua's answer; the layouts are those of lua/base.lua.
func readView(l Lane, got reply) (laneView, error) {
	if len(got.rest) < 12 {
		return laneView{}, fmt.Errorf("short answer %v", got.rest)
	}
	var a arrays
	var names []string
	if err := json.Unmarshal([]byte(text(got.rest[2])), &names); err != nil {
		return laneView{}, err
	}
	cfg, shares, s := a.read(got.rest[0]), a.read(got.rest[1]), a.read(got.rest[3])
	permits, err := number(got.rest[6])
	if err != nil {
		return laneView{}, err
	}
	v := laneView{now: got.now, plan: readPlan(l, cfg, shares, names), permits: permits, free: a.read(got.rest[7]),
		peaks: a.read(got.rest[4])}
	reason, detail, _ := strings.Cut(text(got.rest[5]), "|")
	v.reason, v.detail = Reason(reason), detail
	a.readLearned(&v, text(got.rest[8]), got.rest[9])
	v.lowered = readLow(a.read(got.rest[10]))
	v.inPlace = a.readCallers(text(got.rest[11]), got.now, names)
	if a.err == nil {
		v.readUse(s)
		a.err = v.readClasses(got.rest[12:], &a)
	}
	return v, a.err
}

// readPlan is what newPlan wrote, read back.
func readPlan(l Lane, cfg, shares []int64, names []string) plan {
	p := plan{lane: l}
	for i := 2; len(p.dims) < int(cfg[1]); i += 6 {
		d := dim{unit: Unit(cfg[i]), window: Window(cfg[i+1]), limit: cfg[i+2], inside: cfg[i+3], spread: cfg[i+4], shadow: cfg[i+5] == 1}
		for range names {
			s := share{floor: shares[0], guarantee: shares[1], trickle: shares[2], cap: shares[3]}
			if (Limit{Unit: d.unit, Window: d.window}).isCap() {
				s.cap, s.soft = 0, shares[3]
			}
			d.shares, shares = append(d.shares, s), shares[4:]
		}
		p.dims = append(p.dims, d)
	}
	for i, n := range names {
		flags := cfg[len(cfg)-len(names)+i]
		p.classes = append(p.classes, Class{Name: n, Smooth: flags&1 > 0, Tickets: flags&2 > 0})
	}
	return p
}

func (v *laneView) readUse(s []int64) {
	v.header = header{last: s[0], slot: s[1], slot10: s[2], day: s[3], dayEnd: s[4], month: s[5], monthEnd: s[6],
		cool: s[7], rebased: s[8], pulled: s[9], nextPull: s[10]}
	s = s[11:]
	for range v.plan.dims {
		n := 1 + len(v.plan.classes)
		v.margins, v.use = append(v.margins, float64(s[0])), append(v.use, s[1:n])
		v.pace = append(v.pace, make([]int64, n-1))
		s = s[n:]
	}
}

func (v *laneView) readClasses(rest []any, a *arrays) error {
	dims := len(v.plan.dims)
	for i := range v.plan.classes {
		r, k, line := a.read(rest[0]), a.read(rest[1]), a.read(rest[2])
		rest = rest[3:]
		if a.err != nil {
			return a.err
		}
		v.reserve = append(v.reserve, r[1:])
		for d := range dims {
			v.pace[d][i] = k[dims+d]
		}
		for u := range NumUnits {
			if len(line) > 0 {
				v.booked[u] += line[6+u]
				v.out[u] += line[14+u]
			}
		}
	}
	if len(rest) < dims {
		return fmt.Errorf("short answer")
	}
	for d := range dims {
		n, err := number(rest[d])
		if err != nil {
			return err
		}
		v.shadowed = append(v.shadowed, n)
	}
	rest = rest[dims:]
	for i := 0; i+1 < len(rest); i += 2 {
		class, leaf, ok := strings.Cut(text(rest[i]), "|")
		if !ok || class[0] == '#' {
			continue
		}
		if f := a.read(rest[i+1]); a.err == nil {
			v.leaves = append(v.leaves, LeafState{Class: class, Leaf: leaf, Weight: f[1], Waiting: f[3], Booked: Amounts(f[8:16]), SharePPM: shareOf(f)})
		}
	}
	return a.err
}

// shareOf is a leaf's share; a leaf that an older version wrote has none.
func shareOf(leaf []int64) int64 {
	if len(leaf) < 18 {
		return million
	}
	return leaf[17]
}
