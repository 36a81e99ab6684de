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
	Floors []Floor `json:"floors"`
	Until  int64   `json:"until"` // ms
}

func newLearned(floors []Floor, until time.Time) learned {
	l := learned{Floors: []Floor{}, Until: until.UnixMilli()}
	for _, f := range floors {
		f.Why = oneLine(f.Why)
		f.Why = strings.ToValidUTF8(f.Why[:min(len(f.Why), maxFloorWhy)], "")
		l.Floors = append(l.Floors, f)
	}
	return l
}

// find gives the floor of a class in a limit.
func (l learned) find(class string, u Unit, w Window) (Floor, bool) {
	for _, f := range l.Floors {
		if f.Class == class && f.Unit == u && f.Window == w {
			return f, true
		}
	}
	return Floor{}, false
}
