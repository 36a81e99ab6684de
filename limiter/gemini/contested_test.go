package gemini

import (
	"testing"

	"nightshift/limiter"
)

// TestSampleTellsWhatBulkCompetesFor: money, a refused key, what somebody stopped and a
// caller's own limits are refusals, but none that another class can have caused.
func TestSampleTellsWhatBulkCompetesFor(t *testing.T) {
	t.Parallel()
	record := func(reason limiter.Reason, limit, node string) Record {
		return Record{Class: "interactive", Decision: limiter.RejectedLocally, Refusal: reason, Limit: limit, Node: node}
	}
	waited := record(limiter.ReasonDeadline, "", "")
	waited.WaitMS, waited.WaitedFor = 100, limiter.ReasonQuota
	closed := waited
	closed.WaitedFor = limiter.ReasonCredentials
	there := func(v Kind, scope Scope) Record {
		r := goodCall(meterScope(), "interactive", "chat")
		r.Status, r.Verdict, r.Affects = 429, v, scope
		return r
	}
	for name, c := range map[string]struct {
		r           Record
		here, there int64
	}{
		"the lane's requests":   {record(limiter.ReasonQuota, "rpm", ""), 1, 0},
		"its share":             {record(limiter.ReasonShare, "input_tpm", ""), 1, 0},
		"waited for quota":      {waited, 1, 0},
		"waited for a key":      {closed, 0, 0},
		"a tenant's own":        {record(limiter.ReasonQuota, "rpm", "tenant/acme"), 0, 0},
		"a cap in money":        {record(limiter.ReasonSpend, "usd_per_day", "project/p"), 0, 0},
		"a refused key":         {record(limiter.ReasonCredentials, "", ""), 0, 0},
		"stopped":               {record(limiter.ReasonPaused, "", ""), 0, 0},
		"no shared state":       {record(limiter.ReasonUnavailable, "", ""), 0, 0},
		"the provider's minute": {there(Wait, ScopeModel), 0, 1},
		"the provider's budget": {there(BudgetStop, ScopeBilling), 0, 0},
	} {
		var s, back UsageSample
		s.count(c.r)
		if err := back.unpack(s.pack()); err != nil {
			t.Fatal(err)
		}
		if back.ContestedHere() != c.here || back.ContestedThere() != c.there || back.Calls != 1 {
			t.Errorf("%s: %d here, %d there of %d calls; want %d, %d of 1", name, back.ContestedHere(), back.ContestedThere(), back.Calls, c.here, c.there)
		}
	}
}
