package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"nightshift/limiter"
)

func (s *steered) quota(o setOptions, args ...string) (string, error) {
	s.out.Reset()
	o.factory, o.Target, o.Values = s.f, args[0], args[1:]
	do := o.setting
	if o.Unset {
		do = o.unsetting
	}
	err := o.change(s.Context(), s.be, do)
	return s.out.String(), err
}

func (s *steered) set(o setOptions, args ...string) string {
	s.Helper()
	out, err := s.quota(o, args...)
	s.check(err)
	return out
}

func (s *steered) overridden() string {
	s.Helper()
	list, err := s.be.lim.Overrides(s.Context())
	s.check(err)
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprintf("%s %s=%d", x.Node, x.Name, x.Value))
	}
	return strings.Join(out, ", ")
}

// TestQuotaOfRun: limits and weights of a run are set by its name or the beginning
// of it, and those of a run that is gone can be taken back.
func TestQuotaOfRun(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.set(setOptions{}, "run/night", "rpm=5")
	s.set(setOptions{}, "weights", "run/nig=3", "priority/high=8")
	s.set(setOptions{}, "run/*", "rpm=9")
	id := s.run.ID
	if got, want := s.overridden(), "run/* rpm=9, run/"+id+" rpm=5, weights priority/high=8, weights run/"+id+"=3"; got != want {
		t.Errorf("set are %s; want %s", got, want)
	}
	for _, args := range [][]string{{"run/nigth", "rpm=5"}, {"weights", "run/nigth=3"}} {
		if _, err := s.quota(setOptions{}, args...); err == nil || !strings.Contains(err.Error(), `no run "nigth"; the latest are `+id+" night") {
			t.Errorf("%v: %v", args, err)
		}
	}
	gone := limiter.Change{Set: []limiter.Override{{Node: "run/gone", Name: "rpm", Value: 1}, {Node: "weights", Name: "run/gone", Value: 2}}}
	s.check(s.be.lim.Override(s.Context(), gone))
	if _, err := s.quota(setOptions{}, "run/gone", "rpm=2"); err == nil {
		t.Error("a limit of a run that is gone was set")
	}
	for _, args := range [][]string{{"run/gone"}, {"weights", "run/gone"}, {"run/night"}, {"weights", "run/night"}} {
		s.set(setOptions{Unset: true}, args...)
	}
	if got := s.overridden(); got != "run/* rpm=9, weights priority/high=8" {
		t.Errorf("left are %s", got)
	}
}

func TestQuotaGivenTwice(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	if _, err := s.quota(setOptions{}, "tenant/acme", "rpm=100", "rpm=200"); err == nil || !strings.Contains(err.Error(), "rpm is given twice") {
		t.Errorf("%v", err)
	}
}

// TestQuotaShadowNotes: who takes a limit out of force, or puts one into it, is told.
func TestQuotaShadowNotes(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	shadow := setOptions{Shadow: true, shadowGiven: true}
	s.set(setOptions{}, "tenant/acme", "rpm=60")
	if got, note := s.set(shadow, "tenant/acme", "rpm=10"), "rpm 60 is enforced on tenant/acme until now; in shadow nothing is refused\n"; !strings.Contains(got, note) {
		t.Errorf("%s: want %s", got, note)
	}
	if got := s.set(shadow, "tenant/*", "rpm=30", "rpd=500"); strings.Contains(got, "enforced") {
		t.Errorf("there was no limit to be enforced: %s", got)
	}
	got := s.set(setOptions{}, "tenant/beta", "rpm=40")
	for _, note := range []string{"rpm 40", "rpd 500"} { // its own limits begin with the pattern's
		if note += " of tenant/beta is enforced from now on (tenant/* is in shadow)\n"; !strings.Contains(got, note) {
			t.Errorf("%s: want %s", got, note)
		}
	}
	if got := s.set(setOptions{}, "tenant/beta", "rpm=50"); strings.Contains(got, "enforced") {
		t.Errorf("it was enforced before: %s", got)
	}
}

// TestQuotaStateRefuses: counters only rise, so that what cannot be is not counted.
func TestQuotaStateRefuses(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	s.set(setOptions{}, "m", "rpd=10000", "usd_per_day=$25")
	for want, o := range map[string]quotaStateOptions{
		"rpd 99999999 is more than the limit of 10000: nothing could have used that; --as-is keeps what is counted": {Used: limiter.Limits{RPD: 99_999_999}},
		"usd_per_day $26.00 is more than the limit of $25.00":                                                       {USDDay: 26},
		"tpd there is no such limit":                          {Used: limiter.Limits{TPD: 5}},
		"--rpd -5: want how much was used":                    {Used: limiter.Limits{RPD: -5}},
		"--usd-day NaN: want the dollars that were used":      {USDDay: math.NaN()},
		"--usd-month -0.001: want the dollars that were used": {USDMonth: -0.001},
	} {
		if err := s.state(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	s.check(s.state(quotaStateOptions{Used: limiter.Limits{RPD: 7000}}))
	events, err := s.be.lim.Events(s.Context(), s.run.Created.AddDate(0, 0, -1), 1)
	s.check(err)
	if len(events) != 1 || events[0].Kind != limiter.EventLimits || events[0].Text != "stated as used by bulk: rpd 7,000" {
		t.Errorf("%+v", events)
	}
}

// state is `quota state m` up to where pauses are lifted.
func (s *steered) state(o quotaStateOptions) error {
	o.factory, o.Model, o.Class = s.f, "m", "bulk"
	if err := o.read(); err != nil {
		return err
	}
	return s.be.stateUse(s.Context(), &o)
}
