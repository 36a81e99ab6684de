package cli

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// checkZones looks whether this machine knows the zones that days, months and windows go by.
func (l *loaded) checkZones() checkup {
	zones := []string{"America/Los_Angeles", l.TimeZone, l.Spend.Zone}
	for i, name := range slices.Compact(zones) {
		if name == "" {
			continue
		}
		loc, err := time.LoadLocation(name)
		if err != nil {
			return checkup{"time zones", verdictBad, name + " is not known", "install tzdata, or unset ZONEINFO"}
		}
		if _, off := time.Date(2026, 7, 1, 12, 0, 0, 0, loc).Zone(); i == 0 && off != -7*3600 {
			return checkup{"time zones", verdictBad, "this machine's data of " + name + " is wrong: no summer time", "update tzdata, or unset ZONEINFO: days would end an hour off"}
		}
	}
	return checkup{"time zones", verdictGood, "windows and months by " + l.TimeZone, ""}
}

// pricesOld is when prices should be compared to Google's page again.
const pricesOld = 90 * 24 * time.Hour

// checkPrices looks whether money is counted by prices that hold.
func (l *loaded) checkPrices(now time.Time) (out []checkup) {
	for _, warning := range l.priceWarnings(now) {
		model, text, _ := strings.Cut(warning, ": ")
		is, remedy, _ := strings.Cut(text, "; ")
		out = append(out, checkup{"price of " + strings.TrimPrefix(model, "models."), verdictNote, is, remedy})
	}
	day, err := time.Parse(time.DateOnly, l.prices().Checked().String())
	switch age := now.Sub(day); {
	case err != nil:
		out = append(out, checkup{"prices", verdictNote, "nobody has said when they were compared to Google's", "add checked: YYYY-MM-DD to the file of spend.prices"})
	case age > pricesOld:
		out = append(out, checkup{"prices", verdictNote, "of " + day.Format(time.DateOnly) + ": " + plural(int(age.Hours()/24), "day") + " old",
			"compare them to https://ai.google.dev/gemini-api/docs/pricing, put changes into a file and name that in spend.prices"})
	default:
		out = append(out, checkup{"prices", verdictGood, "as of " + day.Format(time.DateOnly), ""})
	}
	return out
}

// checkWorkerSettings finds settings by which workers get in their own way.
func (l *loaded) checkWorkerSettings() (out []checkup) {
	add := func(is, remedy string) { out = append(out, checkup{"worker settings", verdictNote, is, remedy}) }
	w := l.Worker
	if w.Attempts == 1 {
		add("one attempt: a row fails at the first hiccup of the network", "worker.attempts: 5")
	}
	if w.CallTimeout < 30*time.Second {
		add(fmt.Sprintf("calls are given up after %s, and their tokens are lost", w.CallTimeout), "worker.call_timeout: 2m")
	}
	if w.FlexTimeout < w.CallTimeout {
		add(fmt.Sprintf("flex calls are given up after %s; they take up to 15 minutes", w.FlexTimeout), "worker.flex_timeout: 15m")
	}
	for name, m := range l.Models {
		if m.Concurrency > 0 && int64(w.Concurrency) > m.Concurrency {
			add(fmt.Sprintf("%d slots a worker for %s, which may have %d calls at once", w.Concurrency, name, m.Concurrency), fmt.Sprintf("worker.concurrency: %d", m.Concurrency))
		}
	}
	if len(out) == 0 {
		return []checkup{{"worker settings", verdictGood, fmt.Sprintf("%d calls at once, %d attempts", w.Concurrency, w.Attempts), ""}}
	}
	slices.SortFunc(out, func(a, b checkup) int { return strings.Compare(a.Is, b.Is) })
	return out
}

// loopbackHost says that an address is reached from its own machine only.
func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || ip != nil && ip.IsLoopback()
}

// beyond says that an address to listen at is reached from other machines.
func beyond(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && !loopbackHost(host)
}

// checkPorts looks at what others may reach, and what keeps them out.
func (l *loaded) checkPorts() (out []checkup) {
	add := func(v verdict, what, is, remedy string) { out = append(out, checkup{what, v, is, remedy}) }
	if g := l.Gateway; beyond(g.Listen) {
		switch {
		case g.Observe:
			add(verdictBad, "gateway port", g.Listen+" takes calls of anybody while it observes", "gateway.listen: 127.0.0.1:8484, or gateway.observe: false and `nightshift keys add`")
		case g.TLS.Cert == "":
			add(verdictNote, "gateway port", g.Listen+" without TLS: keys and prompts travel in the clear", "gateway.tls, or a proxy in front that speaks it")
		}
	}
	if d := l.Dashboard; beyond(d.Listen) {
		if d.Token == "" {
			add(verdictBad, "dashboard port", d.Listen+" without a token", "dashboard.token (NIGHTSHIFT_DASHBOARD_TOKEN)")
		} else {
			add(verdictNote, "dashboard port", d.Listen+": the token travels in the clear", "a proxy in front that speaks TLS, or dashboard.listen: 127.0.0.1:8780")
		}
	}
	for _, m := range [][2]string{{"metrics.listen", l.Metrics.Listen}, {"worker.metrics", l.Worker.Metrics}, {"scheduler.metrics", l.Scheduler.Metrics}, {"gateway.metrics", l.Gateway.Metrics}, {"dashboard.metrics", l.Dashboard.Metrics}} {
		if beyond(m[1]) {
			add(verdictNote, "metrics port", m[0]+" "+m[1]+" tells models, spend and limits to whoever asks", "a firewall, or an address that only Prometheus reaches")
		}
	}
	if len(out) == 0 {
		add(verdictGood, "ports", "none is reached from other machines without being asked for who it is", "")
	}
	return out
}

// checkTold looks whether anybody hears of alerts.
func (l *loaded) checkTold() checkup {
	list := l.alertHooks()
	if len(list) == 0 {
		return checkup{"alerts", verdictNote, "nobody is told of any", "alerts.webhook_env, then `nightshift alerts test`"}
	}
	for _, h := range list {
		if _, err := h.open(); err != nil {
			return checkup{"alerts", verdictBad, firstLine(err.Error()), "set it where the scheduler runs, then `nightshift alerts test`"}
		}
	}
	return checkup{"alerts", verdictGood, plural(len(list), "hook") + " told", ""}
}

// taught are limits that the provider's answers have shown to be others than configured.
func taught(lanes []limiter.LaneState, bypass []scheduler.BypassEstimate) (out []checkup) {
	low := map[string]bool{}
	for _, b := range bypass {
		if b.Quota < b.Configured {
			model := modelOf(b.Lane)
			low[model+" rpm"] = true
			out = append(out, checkup{"limits of " + model, verdictBad, fmt.Sprintf("429s say %d rpm; %d are configured", b.Quota, b.Configured), fmt.Sprintf("nightshift quota set %s rpm=%d, and models.%s.rpm", model, b.Quota, model)})
		}
	}
	for _, s := range lanes {
		for _, l := range s.Limits {
			if l.Lowered != nil && !low[s.Lane.Model+" "+l.Name] {
				out = append(out, checkup{"limits of " + s.Lane.Model, verdictNote, l.Name + " is " + loweredUntil(l, time.Now()) + ", since the provider refused more", "if it comes again: nightshift quota review " + s.Lane.Model})
			}
		}
	}
	if len(out) == 0 {
		out = append(out, checkup{"limits", verdictGood, "no 429 says otherwise", ""})
	}
	return out
}

func modelOf(lane string) string {
	if l, err := limiter.ParseLane(lane); err == nil {
		return l.Model
	}
	return lane
}
