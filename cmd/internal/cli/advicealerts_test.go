package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// TestAlertsThatAreOver: what to do has no alert that is over, and each that is not has
// the command that helps.
func TestAlertsThatAreOver(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	dead := limiter.Event{Kind: limiter.EventAlert, Subject: "provider", At: ago(time.Minute), Text: "the provider refuses the API key", Data: map[string]string{"reason": string(limiter.ReasonCredentials)}}
	capped := limiter.Event{Kind: limiter.EventAlert, Subject: "project/demo", At: ago(time.Minute), Text: "50 % of the cap is spent", Data: map[string]string{scheduler.DataCommand: "nightshift spend show"}}
	lower := limiter.Event{Kind: limiter.EventAlert, Subject: "gemini/demo/global/m", At: ago(time.Minute), Text: "100 holds from now on. Set the right value and type `nightshift quota unset m rpm`"}
	for name, c := range map[string]struct {
		events []limiter.Event
		want   string // the commands
	}{
		"none is over":         {[]limiter.Event{dead, capped, lower}, "nightshift doctor; nightshift spend show; nightshift quota unset m rpm"},
		"the key is mended":    {[]limiter.Event{dead, {Kind: limiter.EventResume, Subject: "provider", At: ago(11 * time.Second), Text: "calls go on"}}, ""},
		"the cap is raised":    {[]limiter.Event{capped, {Kind: scheduler.EventRecovered, Subject: "project/demo usd_per_day", At: ago(time.Second)}}, ""},
		"another thing is":     {[]limiter.Event{capped, {Kind: scheduler.EventRecovered, Subject: "project/demo2 usd_per_day", At: ago(time.Second)}}, "nightshift spend show"},
		"it was over before":   {[]limiter.Event{{Kind: limiter.EventResume, Subject: "provider", At: ago(2 * time.Minute)}, dead}, "nightshift doctor"},
		"of one, the latest":   {[]limiter.Event{lower, {Kind: limiter.EventAlert, Subject: lower.Subject, At: now, Text: "two processes disagree"}}, "nightshift events --kind alert"},
		"what is half an hour": {[]limiter.Event{{Kind: limiter.EventAlert, Subject: "x", At: ago(30 * time.Minute)}}, ""},
	} {
		o := &overview{At: now}
		o.Events = c.events
		o.adviseAlerts()
		var got []string
		for _, a := range o.Advice {
			got = append(got, a.Command)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
