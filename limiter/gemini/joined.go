package gemini

import (
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"
)

// TransportConfigOf begins a configuration with what is enforced: its lanes, and how
// long each class waits in place for a permit. A program that joins a fleet asks the
// fleet's limiter (limiter.Redis.Effective) and states neither again; it still sets
// Gate and APIKey. Models have no other names then than the lanes': a program that
// calls by aliases makes its own LaneMap. Lanes that are configured later are known
// to a transport that is made later.
func TransportConfigOf(enforced limiter.Config) (TransportConfig, error) {
	if len(enforced.Lanes) == 0 {
		return TransportConfig{}, errors.New("no lane has limits yet: configure them (limiter.Redis.Configure), or start a nightshift worker, gateway or scheduler of this project first")
	}
	region := enforced.Lanes[0].Lane.Region
	var models []Model
	for _, l := range enforced.Lanes {
		if l.Lane.Region != region {
			return TransportConfig{}, fmt.Errorf("lanes are in regions %s and %s: make a LaneMap of those that are called", region, l.Lane.Region)
		}
		models = append(models, Model{Name: l.Lane.Model})
	}
	lanes, err := NewLaneMap(enforced.Scope.Project, region, models...)
	if err != nil {
		return TransportConfig{}, err
	}
	return TransportConfig{Lanes: lanes, MaxWait: maxWaits(enforced.Classes)}, nil
}

func maxWaits(classes []limiter.Class) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, c := range classes {
		out[c.Name] = c.MaxWait
	}
	return out
}
