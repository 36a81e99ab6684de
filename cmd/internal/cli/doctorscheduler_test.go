package cli

import (
	"strings"
	"testing"

	"nightshift/jobs"
)

// TestDoctorMissesAScheduler where schedules or open runs need one, and says of which.
func TestDoctorMissesAScheduler(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	if k := s.be.checkScheduler(t.Context()); k.Verdict != verdictUnknown {
		t.Errorf("nothing needs one: %+v", k)
	}
	_, err := s.be.store.Steer(t.Context(), s.run.ID, func(x *jobs.Steering) error { x.Window = "22:00-07:00"; return nil })
	s.check(err)
	was := s.be.conf.schedulerDigest()
	s.be.conf.Schedules = []ScheduleConfig{{"name": "nightly"}}
	if k := s.be.checkScheduler(t.Context()); k.Verdict != verdictBad || !strings.Contains(k.Is, "cap of night") || !strings.Contains(k.Is, "1 schedule start") {
		t.Errorf("%+v", k)
	}
	if s.be.conf.schedulerDigest() == was {
		t.Error("schedulers with other schedules are not told apart")
	}
}
