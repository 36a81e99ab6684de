package scheduler

import (
	"cmp"
	"context"
	"slices"

	"nightshift/limiter/gemini"
)

// mostRamps are told apart by their scope, those that move calls first; of the others
// only the number is told.
const mostRamps = 20

var rampPhases = []gemini.RampPhase{gemini.RampMoving, gemini.RampBad, gemini.RampHeld, gemini.RampRolledBack, gemini.RampFinished}

// ramps tells how far calls are moved to other models, and how ramps stand.
func (c *FleetCollector) ramps(ctx context.Context, s *sheet) error {
	all, err := gemini.NewRampStore(c.Control.Redis, c.Control.Scope).Ramps(ctx)
	if err != nil {
		return err
	}
	c.rampSheet(s, all)
	return nil
}

func (c *FleetCollector) rampSheet(s *sheet, all []gemini.Ramp) {
	for _, p := range rampPhases {
		s.add(fleet.ramps, 0, rampLabel(p))
	}
	slices.SortFunc(all, func(a, b gemini.Ramp) int {
		return cmp.Or(cmp.Compare(inactive(a), inactive(b)), cmp.Compare(a.Name(), b.Name()))
	})
	for i, r := range all {
		s.add(fleet.ramps, 1, rampLabel(r.Phase))
		if i < mostRamps {
			s.most(fleet.rampShare, float64(r.SharePPM())/1e6, r.Scope.String(), c.model(r.From), c.model(r.To))
		}
	}
}

func inactive(r gemini.Ramp) int {
	if r.Active() {
		return 0
	}
	return 1
}

// rampLabel is a phase as labels have it, without a space.
func rampLabel(p gemini.RampPhase) string {
	switch p {
	case gemini.RampRolledBack:
		return "rolled_back"
	case gemini.RampMoving, gemini.RampBad, gemini.RampHeld, gemini.RampFinished:
		return string(p)
	}
	return otherLabel
}
