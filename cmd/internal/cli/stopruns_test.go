package cli

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// tenantRun is another run of the fleet, of a tenant.
func (s *steered) tenantRun(name, tenant string) jobs.Run {
	s.Helper()
	path := filepath.Join(s.TempDir(), "rows.csv")
	s.check(os.WriteFile(path, []byte("id\nr0\nr1\n"), 0o600))
	spec := s.run.Spec
	spec.Name, spec.Tenant, spec.Team = name, tenant, tenant+"-team"
	p, err := jobs.Prepare(s.Context(), jobs.Input{Path: path}, spec, jobs.PrepareOptions{})
	s.check(err)
	rep, err := s.be.store.Enqueue(s.Context(), p, jobs.EnqueueOptions{})
	s.check(errors.Join(err, p.Close()))
	return rep.Run
}

// TestEmergencyStopOfATenantWithRuns: its rows stand where they are, a call under way
// ends well, further calls of people are refused at once for the tenant's sake, others
// are not touched; lifting gives back exactly what was, a run that somebody had paused
// before stays so.
func TestEmergencyStopOfATenantWithRuns(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	ours, held, others := s.tenantRun("ours", "acme"), s.tenantRun("held", "acme"), s.tenantRun("others", "globex")
	_, err := s.be.control().Pause(t.Context(), scheduler.PauseRequest{Target: scheduler.Target{Run: held.ID}, Owner: "ada", Detail: "wait for the new prompt"})
	s.check(err)
	s.check(s.be.lim.Override(t.Context(), limiter.Change{By: "ada", Set: []limiter.Override{{Node: "tenant/acme", Name: "rpm", Value: 40}}}))
	lane, err := limiter.ParseLane(s.run.Spec.Lane)
	s.check(err)
	call := func(id, tenant string) (*limiter.Permit, error) {
		q := limiter.Request{ID: id, Lane: lane, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: tenant}}
		q.Amounts[limiter.Requests] = 1
		return s.be.lim.Acquire(t.Context(), q)
	}
	underWay, err := call("under-way", "acme")
	s.check(err)
	paused := func() map[string]string {
		pauses, err := s.be.lim.Pauses(t.Context())
		s.check(err)
		out := map[string]string{}
		for _, p := range pauses {
			out[p.Run] = p.Detail
		}
		return out
	}
	before := paused()

	of := url.Values{"target": {"tenant/acme"}, "confirmed": {"yes"}}
	says(t, visit(t, d, operates, "/do/stop", of), http.StatusOK, "tenant/acme is stopped: one call a minute, and 2 open runs are paused.")
	if got := paused(); got[ours.ID] != stopReason+" of tenant/acme" || got[held.ID] == "" || got[others.ID] != "" || got[s.run.ID] != "" {
		t.Errorf("paused are %v", got)
	}
	counts, err := s.be.store.Counts(t.Context(), ours.ID)
	if s.check(err); counts[jobs.Queued] != 2 {
		t.Errorf("rows are %v", counts)
	}
	s.check(s.be.lim.Settle(t.Context(), limiter.Settlement{ID: underWay.ID, Lane: lane, Outcome: limiter.Settled, Used: underWay.Amounts}))
	var denied *limiter.Denied
	if _, err := call("next", "acme"); !errors.As(err, &denied) || denied.Reason != limiter.ReasonQuota || denied.Decision != limiter.RejectedLocally || denied.Node != "tenant/acme" {
		t.Errorf("a call of the tenant: %v, %+v", err, denied)
	}
	if _, err := call("other", "globex"); err != nil {
		t.Errorf("a call of another tenant: %v", err)
	}

	says(t, visit(t, d, operates, "/do/lift", of), http.StatusOK, "tenant/acme goes on as before the stop (rpm 40)", "and 1 of its runs with it")
	if got := paused(); len(got) != len(before) || got[held.ID] != before[held.ID] {
		t.Errorf("paused are %v, want %v", got, before)
	}
	if _, err := call("after", "acme"); err != nil {
		t.Errorf("after the lift: %v", err)
	}
}

// TestEmergencyStopOfATenantAndItsTeam: a run of both goes on when both are lifted.
func TestEmergencyStopOfATenantAndItsTeam(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	s.tenantRun("ours", "acme")
	for _, step := range []struct{ do, target, want string }{
		{"stop", "tenant/acme", "1 open run is paused"}, {"stop", "team/acme-team", "1 open run is paused"},
		{"lift", "team/acme-team", "and 0 of its runs with it"}, {"lift", "tenant/acme", "and 1 of its runs with it"},
	} {
		says(t, visit(t, d, operates, "/do/"+step.do, url.Values{"target": {step.target}, "confirmed": {"yes"}}), http.StatusOK, step.want)
	}
}

// TestDashboardRamps: a ramp is started, held, let go on and rolled back, each with what
// was before and after in the audit log.
func TestDashboardRamps(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	s.be.conf.Models["n"] = s.be.conf.Models["m"]
	of := url.Values{"target": {"feature/test"}, "from": {"m"}, "to": {"n"}, "over": {"2h"}, "reason": {"a trial"}, "confirmed": {"yes"}}
	for _, step := range []struct {
		do    string
		want  string
		phase gemini.RampPhase
		ppm   int64
	}{
		{"ramp-start", "feature/test (m to n) begins at 5 % of the callers", gemini.RampMoving, 50_000},
		{"ramp-hold", "", gemini.RampHeld, 50_000},
		{"ramp-resume", "", gemini.RampMoving, 50_000},
		{"ramp-rollback", "", gemini.RampRolledBack, 0},
	} {
		says(t, visit(t, d, operates, "/do/"+step.do, of), http.StatusOK, step.want)
		r, err := s.be.ramps("").Find(t.Context(), gemini.RampScope{Kind: "feature", Name: "test"}, "m")
		if s.check(err); r.Phase != step.phase || r.SharePPM() != step.ppm {
			t.Errorf("after %s it is %s at %d", step.do, r.Phase, r.SharePPM())
		}
	}
	says(t, visit(t, d, looks, "/audit", nil), http.StatusOK, "ramp-start ramp feature/test (m to n) all calls go to m → 5 % of the callers go to n done", "ramp-hold", "ramp-resume", "ramp-rollback")
}
