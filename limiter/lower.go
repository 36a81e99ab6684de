package limiter

import "time"

// lowered is what feedback took off one limit (lua/lower.lua): seven numbers of
// the field low.
type lowered struct {
	unit   Unit
	window Window
	limit  int64
	inside int64 // limit less outside
	value  int64 // ppm that are taken off; of calls at once: how many may be
	at     int64 // the moment of value
	cut    int64 // when it was last lowered
}

// off is what is taken off at t, in ppm.
func (x lowered) off(t int64) int64 { return max(0, x.value-max(0, t-x.at)/creepMS) }

// left is what is left of the limit; ok is false when that is all of it.
func (x lowered) left(t int64) (n int64, ok bool) {
	if x.window == Held {
		return x.value, x.value < x.inside && t-x.cut < ceilingForget
	}
	off := x.off(t)
	return x.inside - part(x.inside, off), off > 0
}

// shown is for people, given what is in force.
func (x lowered) shown(t, inForce int64) *Lowering {
	if _, ok := x.left(t); !ok {
		return nil
	}
	if x.window == Held {
		return &Lowering{PPM: million - inForce*million/x.inside, Until: time.UnixMilli(x.cut + ceilingForget)}
	}
	return &Lowering{PPM: x.off(t), Until: time.UnixMilli(x.at + x.value*creepMS)}
}

// readLow reads the field low.
func readLow(n []int64) (out []lowered) {
	for ; len(n) >= 7; n = n[7:] {
		out = append(out, lowered{Unit(n[0]), Window(n[1]), n[2], n[3], n[4], n[5], n[6]})
	}
	return out
}

// lowering gives the entry of a limit; nil when there is none.
func (v *laneView) lowering(p dim) *lowered {
	for i, x := range v.lowered {
		if x.unit == p.unit && x.window == p.window {
			return &v.lowered[i]
		}
	}
	return nil
}
