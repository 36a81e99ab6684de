package gemini

import (
	"fmt"
	"testing"

	"nightshift/limiter"
)

// TestSampleTellsCauses: whose limit refused, what the provider refused for, what sent a
// row back, what was waited for, and what the cache saved.
func TestSampleTellsCauses(t *testing.T) {
	t.Parallel()
	scope := meterScope()
	refused := func(reason limiter.Reason, node, limit string) Record {
		return Record{Class: "interactive", Decision: limiter.RejectedLocally, Refusal: reason, Node: node, Limit: limit, WaitMS: 100, WaitedFor: reason}
	}
	their := goodCall(scope, "bulk", "tags")
	their.Run, their.Status, their.Verdict, their.Reason = "r1", 429, Wait, "input_tpm"
	broken := goodCall(scope, "bulk", "tags")
	broken.Run, broken.Status, broken.Verdict, broken.Reason = "r1", 500, Backoff, "server_error"
	cached := goodCall(scope, "bulk", "tags")
	cached.Usage, cached.CacheSaved = &Usage{Prompt: 100, Cached: 60}, 45
	var s UsageSample
	for _, r := range []Record{
		refused(limiter.ReasonQuota, "", "rpm"), refused(limiter.ReasonShare, "", "rpm"), refused(limiter.ReasonQuota, "tenant/acme", "input_tpm"),
		refused(limiter.ReasonPaused, "", ""), refused(limiter.ReasonSpend, "run/r1", "usd_total"), {Run: "r1", Decision: limiter.Queued, Refusal: limiter.ReasonQuota, Limit: "rpm"}, their, broken, cached,
	} {
		s.count(r)
	}
	for name, got := range map[string][]Count{
		"[{lane rpm 2} {class rpm 1} {paused 1} {run usd_total 1} {tenant input_tpm 1}]": s.RefusedBy(),
		"[{input_tpm 1}]": s.RefusedThere(),
		"[{own limiter 1} {provider 429 1} {provider 5xx 1}]": s.Retried(),
		"[{quota 200} {paused 100} {share 100} {spend 100}]":  s.WaitedFor(),
	} {
		if fmt.Sprint(got) != name {
			t.Errorf("got %v, want %s", got, name)
		}
	}
	if s.CachedTokens != 60 || s.CacheSavedMicroUSD != 45 || s.Amount("retried") != 3 || s.Amount("waited_ms") != 500 {
		t.Errorf("%+v", s)
	}
	var back UsageSample
	if err := back.unpack(s.pack()); err != nil || fmt.Sprint(back.RefusedBy()) != fmt.Sprint(s.RefusedBy()) {
		t.Errorf("stored: %v, %v", back.RefusedBy(), err)
	}
}

// TestOtherwise: what others had no part in is told from what they may have taken, and
// named.
func TestOtherwise(t *testing.T) {
	t.Parallel()
	var s UsageSample
	for _, r := range []Record{
		{Refusal: limiter.ReasonQuota, Limit: "rpm"}, {Refusal: limiter.ReasonShare, Limit: "rpm"}, {Refusal: limiter.ReasonCooldown},
		{Refusal: limiter.ReasonQuota, Node: "project/demo", Limit: "rpm"}, {Refusal: limiter.ReasonQuota, Node: "organization/o", Limit: "rpm"},
		{Refusal: limiter.ReasonQuota, Node: "team/acme/web", Limit: "concurrency"}, {Refusal: limiter.ReasonQuota, Node: "team/acme/web", Limit: "concurrency"},
		{Refusal: limiter.ReasonCredentials}, {Refusal: limiter.ReasonSpend, Node: "project/demo", Limit: "usd_per_day"}, {Refusal: limiter.ReasonPaused},
	} {
		r.Class, r.Decision = "interactive", limiter.RejectedLocally
		s.count(r)
	}
	n, by := s.Otherwise()
	if got, want := fmt.Sprint(n, by), "5 [{team concurrency 2} {credentials 1} {other usd_per_day 1} {paused 1}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Provider429, s.ProviderMoney = 3, 2
	if n, by = s.Otherwise(); n != 7 || by[len(by)-1].N != 2 {
		t.Errorf("with the provider's: %d %v", n, by)
	}
}
