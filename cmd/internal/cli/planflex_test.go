package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/worker"
)

// TestPlanByFlex: flex takes 1 to 15 minutes an answer, of so many at once; a plan minds
// both, and knows the way out.
func TestPlanByFlex(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.Local)
	for _, c := range []struct {
		name     string
		deadline time.Duration
		late     time.Duration
		want     string
	}{
		{"none is so quick", 5 * time.Minute, 14 * time.Minute, "missed by 14m00s"},
		{"if all are quick", time.Hour, 0, "made if flex is quick, missed by 3h45m if it is as slow as it may be"},
		{"however slow", 6 * time.Hour, 0, "made, with 1h15m to spare"},
	} {
		p := prospectOf(now, 300)
		p.flex = &flexPace{slots: 16, longest: 15 * time.Minute}
		r := planReport{Deadline: now.Add(c.deadline)}
		r.time(p, &batch{})
		if !r.Done.Equal(now.Add(19*time.Minute)) || !r.Latest.Equal(now.Add(285*time.Minute)) || r.Late != int64(c.late.Seconds()) {
			t.Errorf("%s: done %s to %s, late %d", c.name, r.Done, r.Latest, r.Late)
		}
		if got := r.deadlineLine(now); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
		if one := len(r.Ways) == 1 && r.Ways[0].What == "--service-tier standard" && !r.Ways[0].Done.After(r.Deadline); one != (c.late > 0) {
			t.Errorf("%s: to make it: %+v", c.name, r.Ways)
		}
		if got := r.flexLine(now); !strings.HasPrefix(got, "answers take 1m00s to 15m00s each, 16 calls at once: done ") {
			t.Error(got)
		}
	}
	if got := (forecast{took: 19 * time.Minute, limit: byFlex}).sentence(now); !strings.HasPrefix(got, "about 19m00s at the least (by flex), done by ") {
		t.Error(got)
	}
}

// TestFlexOf: only what flex serves to the end goes by its time; calls at once are those of
// the workers, else of one to come.
func TestFlexOf(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "worker: {concurrency: 7, flex_timeout: 10m}\nmodels: {m: {rpm: 10}}")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for tier, want := range map[string]bool{"flex": true, "standard": false, "priority": false, "": false, jobs.TierAuto: false} {
		s := jobs.Spec{Steer: jobs.Steering{ServiceTier: tier, Deadline: now.Add(9 * time.Hour)}}
		f := l.flexOf(s, []worker.WorkerInfo{}, now)
		if (f != nil) != want {
			t.Errorf("%q: %+v", tier, f)
		}
		if f != nil && *f != (flexPace{7, 10 * time.Minute}) {
			t.Errorf("%+v", f)
		}
	}
	if l.flexOf(jobs.Spec{Steer: jobs.Steering{ServiceTier: jobs.TierAuto}}, nil, now) == nil {
		t.Error("auto without a deadline stays with flex")
	}
}
