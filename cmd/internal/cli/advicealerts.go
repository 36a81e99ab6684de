package cli

import (
	"regexp"
	"slices"
	"strings"

	"nightshift/limiter"
	"nightshift/scheduler"
)

// past tells of an alert among the events that a later one stands for it: another alert
// of the same thing, or that it is over.
func (o *overview) past(alert limiter.Event) bool {
	return slices.ContainsFunc(o.Events, func(e limiter.Event) bool {
		if !e.At.After(alert.At) {
			return false
		}
		switch e.Kind {
		case limiter.EventAlert, limiter.EventResume:
			return e.Subject == alert.Subject
		case scheduler.EventRecovered: // that of a cap has the cap's name after its node
			return alert.Subject != "" && (e.Subject == alert.Subject || strings.HasPrefix(e.Subject, alert.Subject+" "))
		}
		return false
	})
}

// typedCommand is what a text tells people to type.
var typedCommand = regexp.MustCompile("`(nightshift [^`]+)`")

// alertCommand is what helps against an alert: its own command, else the last that its
// text has.
func alertCommand(e limiter.Event) string {
	if c := e.Data[scheduler.DataCommand]; c != "" {
		return c
	}
	if all := typedCommand.FindAllStringSubmatch(e.Text, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	if e.Data["reason"] == string(limiter.ReasonCredentials) {
		return "nightshift doctor"
	}
	return "nightshift events --kind alert"
}
