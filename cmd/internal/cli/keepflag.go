package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// keepFlag is how long a run is kept once it has ended.
type keepFlag struct{ Keep string }

func (o *keepFlag) addKeepFlag(fl *pflag.FlagSet) {
	fl.StringVar(&o.Keep, "keep", "", "keep the run this `TIME` (7d, 36h, forever) after its end (default retention in the configuration)")
}

func (o *keepFlag) keep(s *jobs.Spec) (err error) {
	if o.Keep == "" {
		return nil
	}
	if s.Steer.Keep, err = parseKeep(o.Keep); err != nil {
		return fmt.Errorf("--keep %w", err)
	}
	return nil
}
