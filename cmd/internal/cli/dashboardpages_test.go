package cli

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

const looks, operates = "a-token-that-looks", "a-token-that-operates"

// watchedRun is a run of ten rows, on a dashboard.
func watchedRun(t *testing.T) (*steered, *dashboard.Dashboard) {
	t.Helper()
	s := newSteered(t)
	s.be.conf.Dashboard.Write, s.be.conf.Dashboard.Token, s.be.conf.Dashboard.ViewToken = true, operates, looks
	return s, s.be.testDashboard(t, &dashboardNow{backend: s.be})
}

// TestDashboardRun: the list and the page of a run, and what people do with it, in the
// command line's own words; all of it is in the audit log.
func TestDashboardRun(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	s.end(0, jobs.Done, "")
	s.end(1, jobs.Failed, "safety")
	s.end(2, jobs.Failed, "schema")
	s.end(3, jobs.Failed, "schema")
	id := s.run.ID
	says(t, visit(t, d, looks, "/runs", nil), http.StatusOK, "1 of 1, 1 open", "night", "test")
	says(t, visit(t, d, looks, "/runs?state=held&q=NIGHT", nil), http.StatusOK, "1 of 1", "no worker serves it")
	says(t, visit(t, d, looks, "/runs?q=nothing", nil), http.StatusOK, "No run with that.")
	says(t, visit(t, d, operates, "/runs/night", nil), http.StatusOK, "6 queued", "3 failed", "schema failed 2", "of schema", "No end is known: no worker serves it.", "max-cost none", "Retry 2")
	page := visit(t, d, operates, "/runs/"+id+"?cause=safety", nil)
	if says(t, page, http.StatusOK, "Failed rows of safety 1", "of safety"); strings.Contains(pageWords(page), "r2 failed: schema") {
		t.Error("rows of other causes are shown")
	}
	says(t, visit(t, d, looks, "/runs/nothing", nil), http.StatusNotFound, "no such run")

	form := func(more ...string) url.Values {
		v := url.Values{"target": {id}, "confirmed": {"yes"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	says(t, visit(t, d, operates, "/do/set", form("confirmed", "", "name", "weight", "value", "3")), http.StatusPreconditionRequired, "Change weight of night: 1 → 3?")
	says(t, visit(t, d, operates, "/do/set", form("name", "weight", "value", "3")), http.StatusOK, "weight of night: 1 → 3")
	says(t, visit(t, d, operates, "/do/set", form("confirmed", "", "name", "weight", "value", "many")), http.StatusConflict, `--weight: \"many\": want a whole number from 1 to 1000`)
	says(t, visit(t, d, operates, "/do/set", form("name", "deadline", "value", "")), http.StatusConflict, "--deadline is empty")
	says(t, visit(t, d, operates, "/do/set", form("name", "colour", "value", "red")), http.StatusConflict, "there is no setting")
	says(t, visit(t, d, looks, "/do/set", form("name", "weight", "value", "5")), http.StatusForbidden, "You may only look")
	if run, err := s.be.store.Load(t.Context(), id); err != nil || run.Spec.Steer.Weight != 3 || run.Set["weight"].By != "ana (dashboard)" {
		t.Errorf("%+v, %+v, %v", run.Spec.Steer, run.Set, err)
	}

	says(t, visit(t, d, operates, "/do/retry", form("confirmed", "", "only", "schema")), http.StatusPreconditionRequired, "Ask 2 rows of night again?")
	says(t, visit(t, d, operates, "/do/retry", form("confirmed", "", "only", "schemer")), http.StatusConflict, "no row of night failed of it; there are: schema, safety")
	says(t, visit(t, d, operates, "/do/retry", form("only", "schema")), http.StatusOK, "night: 2 rows enqueued again", "now: 8 queued, 1 done, 1 failed")
	if page = visit(t, d, operates, "/runs/night", nil); strings.Contains(page.Body.String(), "/do/resume") {
		t.Error("a run that nobody paused can be resumed")
	}
	says(t, visit(t, d, operates, "/do/pause", form()), http.StatusOK, "run night is paused")
	if page = visit(t, d, operates, "/runs/night", nil); !strings.Contains(page.Body.String(), "/do/resume") {
		t.Error("a paused run cannot be resumed")
	}
	says(t, visit(t, d, operates, "/do/cancel", form("confirmed", "")), http.StatusPreconditionRequired, "Its 8 open rows end without an answer")
	says(t, visit(t, d, operates, "/do/cancel", form()), http.StatusOK, "night: 8 rows cancelled, 2 had finished and stay")
	says(t, visit(t, d, operates, "/do/cancel", form("confirmed", "")), http.StatusConflict, "nothing to cancel")
	says(t, visit(t, d, operates, "/do/cancel", url.Values{"confirmed": {"yes"}}), http.StatusConflict, "names no run")
	says(t, visit(t, d, looks, "/audit", nil), http.StatusOK, "set run night weight 1 → weight 3 done", "retry run night 6 queued, 1 done, 3 failed → 8 queued, 1 done, 1 failed done",
		"cancel run night 8 queued, 1 done, 1 failed → 1 done, 1 failed, 8 cancelled done")
	page = visit(t, d, operates, "/runs/night", nil)
	if says(t, page, http.StatusOK, "What happened", "run run night set: weight 1 → 3 by ana (dashboard)", "8 cancelled"); strings.Contains(page.Body.String(), "/do/resume") {
		t.Error("a cancelled run can be resumed")
	}
}

// TestDashboardSteer: limits are shown before they change, and wrong values have the
// command line's own words.
func TestDashboardSteer(t *testing.T) {
	t.Parallel()
	_, d := watchedRun(t)
	set := func(confirmed, target, name, value string) url.Values {
		return url.Values{"target": {target}, "name": {name}, "value": {value}, "reason": {"a launch"}, "confirmed": {confirmed}}
	}
	says(t, visit(t, d, operates, "/do/quota-set", set("", "m", "rpm", "30")), http.StatusPreconditionRequired, "Set rpm of m: 60 → 30 (used now 0)?")
	says(t, visit(t, d, operates, "/do/quota-set", set("", "m", "rpm", "fast")), http.StatusConflict, "want a number above zero, such as 300")
	says(t, visit(t, d, operates, "/do/quota-set", set("", "modell", "rpm", "3")), http.StatusConflict, "unknown target")
	says(t, visit(t, d, operates, "/do/quota-set", set("yes", "m", "rpm", "30")), http.StatusOK, "rpm of m: 60 → 30", "To undo it: nightshift quota unset m rpm")
	says(t, visit(t, d, operates, "/do/quota-set", set("yes", "project", "usd_per_month", "50")), http.StatusOK, "usd_per_month of project/default: none → $50.00")
	says(t, visit(t, d, looks, "/steer", nil), http.StatusOK, "m rpm 30 60 ana (dashboard)", "a launch", "changing it needs the operators", "project/default usd_per_month its end is not known yet, for no whole day is $0 $0 $50.00")
	says(t, visit(t, d, operates, "/do/quota-unset", set("yes", "m", "rpm", "")), http.StatusOK, "rpm of m: 30 → 60", "What is configured holds again.")
	says(t, visit(t, d, operates, "/do/quota-unset", set("yes", "m", "rpm", "")), http.StatusConflict, "nothing is set for m rpm")
	for _, x := range []struct {
		form url.Values
		want string
	}{
		{url.Values{"target": {"chat"}, "to": {"n"}, "over": {"2h"}}, "SCOPE"}, {url.Values{"target": {"feature/chat"}, "to": {"n"}, "over": {"soon"}}, "--over soon"},
		{url.Values{"target": {"feature/chat"}, "from": {"m"}, "to": {"nobody"}, "over": {"2h"}}, "nobody"},
	} {
		says(t, visit(t, d, operates, "/do/ramp-start", x.form), http.StatusConflict, x.want)
	}
	says(t, visit(t, d, operates, "/do/ramp-hold", url.Values{"target": {"feature/chat"}}), http.StatusConflict, "feature/chat")
	says(t, visit(t, d, looks, "/audit?what=quota-set", nil), http.StatusOK, "quota-set m rpm 60 → rpm 30 done")
}

// TestEmergencyStop: a tenant's calls are held to one a minute and its runs paused; the
// lifting gives back what was configured, and leaves what others paused.
func TestEmergencyStop(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	of := func(target string) url.Values { return url.Values{"target": {target}, "confirmed": {"yes"}} }
	for wrong, want := range map[string]string{"tenant/nonesuch": "no such tenant: nonesuch; see: nightshift tenants list; nobody is stopped", "key/nonesuch": "no such key: nonesuch; see: nightshift keys list", "team/nonesuch": "no such team"} {
		says(t, visit(t, d, operates, "/do/stop", of(wrong)), http.StatusConflict, want)
	}
	if list, err := s.be.book.List(t.Context(), tenants.ListQuery{}); err != nil || list.All != 0 {
		t.Errorf("a mistyped stop leaves %+v, %v", list.Tenants, err)
	}
	_, _, err := s.be.book.Put(t.Context(), "ana", tenants.Ref{Tenant: "acme"}, tenants.Draft{Note: "the shop"}, tenants.Condition{})
	s.check(err)
	says(t, visit(t, d, operates, "/do/stop", of("tenant/acne")), http.StatusConflict, "did you mean tenant/acme?")
	says(t, visit(t, d, operates, "/do/stop", url.Values{"target": {"tenant/acme"}}), http.StatusPreconditionRequired, "Stop tenant/acme? Its calls are held to one a minute", "0 open runs are paused")
	says(t, visit(t, d, operates, "/do/lift", of("tenant/acme")), http.StatusConflict, "is not stopped")
	says(t, visit(t, d, operates, "/do/stop", of("tenant/acme")), http.StatusOK, "tenant/acme is stopped: one call a minute")
	c, err := s.be.lim.Effective(t.Context())
	if s.check(err); c.Nodes["tenant/acme"].RPM != 1 {
		t.Errorf("%+v", c.Nodes)
	}
	says(t, visit(t, d, operates, "/steer", nil), http.StatusOK, "tenant/acme rpm 1 none ana (dashboard)", "Lift the stop")
	for _, do := range []string{"quota-set", "quota-unset"} {
		rpm := url.Values{"target": {"tenant/acme"}, "name": {"rpm"}, "value": {"90"}, "confirmed": {"yes"}}
		says(t, visit(t, d, operates, "/do/"+do, rpm), http.StatusConflict, "tenant/acme is stopped (one call a minute): lift that first, with `nightshift lift tenant/acme`; nothing was changed")
	}
	says(t, visit(t, d, operates, "/do/lift", of("tenant/acme")), http.StatusOK, "tenant/acme goes on as before the stop (rpm none)")
	if c, err = s.be.lim.Effective(t.Context()); err != nil || c.Nodes["tenant/acme"].RPM != 0 {
		t.Errorf("%+v, %v", c.Nodes, err)
	}
	for _, wrong := range []string{"", "acme", "tenant/*", "class/bulk"} {
		says(t, visit(t, d, operates, "/do/stop", of(wrong)), http.StatusConflict, "want tenant/NAME, team/NAME or key/ID")
	}
	says(t, visit(t, d, looks, "/do/stop", of("tenant/acme")), http.StatusForbidden, "You may only look")
	says(t, callAPI(t, d, looks, "POST", "/tenants/acme/stop", `{}`), http.StatusForbidden, "may only look")
	says(t, callAPI(t, d, operates, "POST", "/tenants/acme/stop", `{"reason":"a loop"}`), http.StatusOK, `"reason":"a loop"`)
	says(t, callAPI(t, d, operates, "POST", "/tenants/acme/lift", ""), http.StatusOK, `"stopped":null`)
	says(t, visit(t, d, looks, "/audit?what=stop", nil), http.StatusOK, "stop tenant/acme rpm none → rpm 1 done")
}

// TestDashboardHistoryAndWho: what bulk and people did is found by both pages, and a
// wrong question is answered in the command's words.
func TestDashboardHistoryAndWho(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	meter := gemini.NewMeter(s.be.rdb, s.be.conf.scope(), gemini.MeterOptions{})
	put := func(class, feature string, status int, n int) {
		for range n {
			r := gemini.Record{Scope: s.be.conf.scope().String(), Lane: "gemini/default/global/m", Class: class, Feature: feature, Path: limiter.Path{Tenant: "acme"},
				Method: "generateContent", Sent: true, Status: status, Time: time.Now(), TookMS: 300}
			if status == http.StatusTooManyRequests {
				r.Verdict = gemini.Wait
			}
			r.Used[limiter.Requests], r.Used[limiter.InputTokens] = 1, 100
			meter.Put(r)
		}
	}
	put("bulk", "tags<b>", 200, 30)
	put("interactive", "chat", 200, 8)
	put("interactive", "chat", 429, 2)
	s.check(meter.Close())
	says(t, visit(t, d, looks, "/history?from=1h", nil), http.StatusOK, "Use by feature requests a minute", "tags<b> has the largest part", "429s of the provider", "Estimates against usage",
		"What calls met", "nightshift quota history --from 1h --by feature --unit rpm", "Money of")
	says(t, visit(t, d, looks, "/history?from=48h&by=class&unit=input_tpm", nil), http.StatusOK, "Use by class input tokens a minute", "bulk")
	says(t, visit(t, d, looks, "/history?from=200h", nil), http.StatusBadRequest, "the history is kept for seven days")
	says(t, visit(t, d, looks, "/history?by=tenant&feature=chat", nil), http.StatusBadRequest, "features are not told apart by tenant")
	says(t, visit(t, d, looks, "/history?model=none", nil), http.StatusBadRequest, "none", "Show")
	csv := visit(t, d, looks, "/history.csv?from=1h", nil)
	if lines := strings.Split(csv.Body.String(), "\n"); !strings.HasPrefix(lines[0], "time,feature,requests,input_tokens") || !strings.Contains(csv.Body.String(), ",tags<b>,30,3000,") {
		t.Errorf("%.300s", csv.Body.String())
	}
	says(t, visit(t, d, looks, "/history.csv?from=never", nil), http.StatusBadRequest, "from never: want")
	says(t, visit(t, d, looks, "/who?from=30m", nil), http.StatusOK, "2 refusals of calls that people waited for in 1 minute", "tags<b> (bulk) had", "If it goes on, pause bulk for half an hour.", "While people waited")
	says(t, visit(t, d, looks, "/who?by=class", nil), http.StatusOK, "bulk bulk 75.0 %", "interactive interactive 25.0 %")
	says(t, visit(t, d, looks, "/who?by=tenant&q=acm", nil), http.StatusOK, "acme")
	says(t, visit(t, d, looks, "/who?q=nobody", nil), http.StatusOK, "Nobody with that.")
	says(t, visit(t, d, looks, "/who?from=tomorrow", nil), http.StatusBadRequest, "want a time of day that has passed")
	says(t, visit(t, d, operates, "/who", nil), http.StatusOK, "Pause bulk for 30 min")
}
