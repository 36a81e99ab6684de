package limiter

import (
	"fmt"
	"strings"
	"time"
)

// Floor is what somebody learned that a class will need of a limit for a while:
// in place of the floor that `lend: auto` assumes while it knows nothing.
type Floor struct {
	Class  string `json:"class"`
	Unit   Unit   `json:"unit"`
	Window Window `json:"window"`
	// Amount is what the classes below leave to this one. It counts within the
	// class's smallest floor (its own, or 2 % of the limit) and its guarantee.
	Amount int64  `json:"amount"`
	Why    string `json:"why"` // for people: "Mon 03:00 was always quiet"
}

// maxFloorWhy bounds what is kept for people, in bytes.
const maxFloorWhy = 200

// checkFloors finds the first that cannot be kept, as a *ConfigError.
func checkFloors(floors []Floor, until time.Time) error {
	if len(floors) > 0 && until.UnixMilli() <= 0 {
		return wrong("until", "is not set")
	}
	seen := map[string]bool{}
	for _, f := range floors {
		field := fmt.Sprintf("floors[%s %s].", f.Class, Limit{Unit: f.Unit, Window: f.Window}.Name())
		switch {
		case f.Class == "":
			return wrong(field+"class", "is empty")
		case f.Unit >= NumUnits:
			return wrong(field+"unit", "%d is none", f.Unit)
		case f.Window >= NumWindows:
			return wrong(field+"window", "%d is none", f.Window)
		case f.Amount < 0 || f.Amount > maxAmount:
			return wrong(field+"amount", "%d; want 0 to %d", f.Amount, int64(maxAmount))
		case seen[field]:
			return wrong(field+"class", "is there twice")
		}
		seen[field] = true
	}
	return nil
}

// learned is what a lane keeps of floors: the last that were set, and until when
// they count. After that the classes have the floors that are configured.
type learned struct {
	Floors []keptFloor `json:"floors"`
	Until  int64       `json:"until"` // ms
}

// keptFloor is a Floor as floors.lua reads it: unit and window are numbers there.
type keptFloor struct {
	Class  string `json:"class"`
	Unit   uint8  `json:"unit"`
	Window uint8  `json:"window"`
	Amount int64  `json:"amount"`
	Why    string `json:"why"`
}

func newLearned(floors []Floor, until time.Time) learned {
	l := learned{Floors: []keptFloor{}, Until: until.UnixMilli()}
	for _, f := range floors {
		why := oneLine(f.Why)
		why = strings.ToValidUTF8(why[:min(len(why), maxFloorWhy)], "")
		l.Floors = append(l.Floors, keptFloor{f.Class, uint8(f.Unit), uint8(f.Window), f.Amount, why})
	}
	return l
}

// find gives the floor of a class in a limit.
func (l learned) find(class string, u Unit, w Window) (keptFloor, bool) {
	for _, f := range l.Floors {
		if f.Class == class && f.Unit == uint8(u) && f.Window == uint8(w) {
			return f, true
		}
	}
	return keptFloor{}, false
}

// inForce takes what the learned floors come to (fl of lua/base.lua) while they
// last.
func (v *laneView) inForce(fl []int64) {
	if len(fl) == 1+len(v.plan.dims)*len(v.plan.classes) && fl[0] > v.now {
		v.lows = fl[1:]
	}
}

// low is a class's floor in a limit now.
func (v laneView) low(d, i int) int64 {
	if at := d*len(v.plan.classes) + i; v.lows != nil && v.lows[at] >= 0 {
		return v.lows[at]
	}
	return v.plan.dims[d].shares[i].floor
}

// learnedFloor says why a class's floor is what it is, where something was learned
// of it: also when that is not renewed any more, or is less than the class's own.
func (v laneView) learnedFloor(d, i int) (string, bool) {
	p, c, low := v.plan.dims[d], v.plan.classes[i], v.low(d, i)
	f, ok := v.learned.find(c.Name, p.unit, p.window)
	own := c.FloorPPM
	if p.unit == OutputTokens {
		own = max(own, c.OutputFloorPPM)
	}
	switch {
	case !ok || lendName(v.lend) != "auto":
		return "", false
	case v.learned.Until <= v.now:
		return fmt.Sprintf("floor %s: what was learned ended at %s, no scheduler renews it", roughly(low, p.limit),
			Instant(time.UnixMilli(v.learned.Until))), true
	case v.lows == nil || v.lows[d*len(v.plan.classes)+i] < 0:
		return "", false
	case low > f.Amount && own > nowFloorPPM:
		return "its own floor " + percent(own), true
	}
	return fmt.Sprintf("floor %s: %s", roughly(low, p.limit), f.Why), true
}

// roughly is an amount as a share of a limit, to a tenth of a percent.
func roughly(amount, limit int64) string {
	return Share(amount * million / limit)
}
