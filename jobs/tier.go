package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TierAuto is the service tier of a run that goes by flex while that serves and its
// deadline allows, and by standard else.
const TierAuto = "auto"

// Tiers lists what Steering.ServiceTier may be, beside "".
var Tiers = []string{"flex", "standard", "priority", TierAuto}

// CheckTier says what is wrong with a run's service tier.
func CheckTier(kind Kind, tier string) error {
	switch {
	case tier == "":
		return nil
	case !slices.Contains(Tiers, tier):
		return fmt.Errorf("service tier %q: want %s", tier, strings.Join(Tiers, ", "))
	case kind == Embed:
		return errors.New("embeddings have no service tiers: leave it out")
	}
	return nil
}

// DearestTier is the service tier by which the run's calls cost most: what it may
// fall back upon counts.
func (s Steering) DearestTier() string {
	if s.ServiceTier == "priority" {
		return "priority"
	}
	return "standard"
}
