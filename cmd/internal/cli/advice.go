package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// advice is something that a person should do, with the command that does it.
type advice struct {
	Level   string `json:"level"` // bad: now; warn: today; note
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
}

func (o *overview) add(level, command, format string, a ...any) {
	o.Advice = append(o.Advice, advice{level, fmt.Sprintf(format, a...), command})
}

// advise says what to do, the most urgent first.
func (o *overview) advise(b *backend) {
	o.adviseHealth()
	o.adviseLanes(b.conf)
	o.adviseFleet(b)
	o.adviseRuns()
	o.adviseAlerts()
	for _, p := range o.Pauses {
		if p.Reason == scheduler.ReasonOperator && p.Until.IsZero() && o.At.Sub(p.Since) > 12*time.Hour {
			o.add("warn", "nightshift resume "+targetName(p), "%s has been paused by %s for %s", p.Target(), p.Owner, ago(o.At.Sub(p.Since)))
		}
	}
}

// targetName is a pause's target as the commands take it.
func targetName(p limiter.Pause) string {
	if p.Lane != "" {
		return jobs.Queue(jobs.Priority(p.Priority), p.Lane)
	}
	return orElse(p.Class, p.Run)
}

func (o *overview) adviseHealth() {
	since := o.Health.Since.Local().Add(-2 * time.Minute).Format("15:04")
	switch o.Health.Phase {
	case scheduler.Yield, scheduler.Paused:
		o.add("bad", "nightshift quota who --from "+since, "those who wait for answers suffer (%s); bulk is held back", o.Health.Why)
	case scheduler.Trickle:
		o.add("bad", "nightshift health show", "answers stay bad although bulk was paused (%s): look at the provider's status page, or at who else calls", o.Health.Why)
	}
	for _, b := range o.Health.Bypass {
		if o.At.Sub(b.At) < 10*time.Minute { // it says nothing of later
			o.add("warn", "nightshift quota who", "%s (at %s)", b, clock(b.At, o.At))
		}
	}
}

func (o *overview) adviseLanes(conf *loaded) {
	o.adviseBroken(conf)
	for _, l := range o.Lanes {
		if t := worker.NoWay(o.Fleet, l.Lane.String()); t != nil {
			o.add("bad", "nightshift doctor", "%s: the provider cannot be reached (%s) since %s; rows wait", l.Lane.Model, t.Why, clock(t.Since, o.At))
		}
		if c := l.Cooldown; c != nil && c.Reason == limiter.ReasonCredentials {
			o.add("bad", "", "%s: %s", l.Lane.Model, conf.restSentence(c, o.At))
		}
	}
}

// adviseBroken says once what holds several lanes back for the same reason, and names
// once the command that stands beside it.
func (o *overview) adviseBroken(conf *loaded) {
	const command = "nightshift resume bulk"
	said, models := []string{}, map[string][]string{}
	for _, l := range o.Lanes {
		b := l.Broken()
		if b == nil {
			continue
		}
		s := without(conf.breakerSentence(b, o.At), command)
		if models[s] == nil {
			said = append(said, s)
		}
		models[s] = append(models[s], l.Lane.Model)
	}
	for _, s := range said {
		o.add("bad", command, "%s: %s", listed(models[s]), s)
	}
}

// without is a text of clauses without those that name a command.
func without(text, command string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "; "), func(clause string) bool {
		return strings.Contains(clause, "`"+command+"`")
	}), "; ")
}

// mostListed bounds how many names a sentence has.
const mostListed = 3

// listed are names in a sentence: "a, b and 12 more".
func listed(names []string) string {
	if more := len(names) - mostListed; more > 0 {
		return strings.Join(names[:mostListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func (o *overview) adviseFleet(b *backend) {
	open := false
	for _, r := range o.Runs {
		if r.counts.Open() == 0 {
			continue
		}
		open = true
		if r.Workers == 0 {
			o.add("bad", "nightshift worker", "no worker serves %s, which has %s", orElse(r.Name, r.ID), plural(int(r.counts.Open()), "open row"))
		}
	}
	if living := b.living(o.Fleet); len(living) > 0 {
		for _, text := range living[0].Disagree(living) {
			o.add("warn", "nightshift config show", "%s", text)
		}
	}
	if o.Health.Leader == nil && (open || len(o.Users) > 0) {
		o.add("warn", "nightshift scheduler", "no scheduler watches over those who wait for answers")
	} else if o.Health.Leader != nil {
		for _, w := range o.Health.Warnings {
			if !strings.HasPrefix(w, "no data") {
				o.add("warn", "nightshift health show", "%s", w)
			}
		}
	}
}

// failed counts the rows that nobody ended on purpose.
func (s runStatus) failed() (n int64) {
	for _, state := range badStates {
		n += s.counts[state]
	}
	return n
}

func (o *overview) adviseRuns() {
	for _, r := range o.Runs {
		name := orElse(r.Name, r.ID)
		if r.ETA != nil && !r.deadline.IsZero() && r.ETA.After(r.deadline) && r.deadline.After(o.At) {
			o.add("warn", "nightshift set "+shellWord(name)+" --deadline TIME", "%s will be late: about %s, its deadline is %s", name, clock(*r.ETA, o.At), clock(r.deadline, o.At))
		}
		if r.outlasted() {
			o.add("warn", r.inTime(), "%s: %s", name, r.outlastedWords(o.At))
		}
		if r.counts.Open() > 0 {
			o.adviseStopped(r.ID, name, r.counts.Open())
		}
		if bad := r.failed(); bad > 0 && o.At.Sub(r.Created) < 48*time.Hour {
			o.add("note", "nightshift errors "+shellWord(name), "%s of %s %s no good answer", plural(int(bad), "row"), name, map[bool]string{true: "has", false: "have"}[bad == 1])
		}
	}
}

// adviseStopped says of a run that its brake or its own cap has stopped what goes on.
func (o *overview) adviseStopped(id, name string, open int64) {
	for _, p := range o.Pauses {
		switch {
		case p.Run != id:
		case p.Reason == scheduler.ReasonBrake:
			o.add("bad", "nightshift errors "+shellWord(name)+", mend it, then nightshift resume "+shellWord(name), "%s is stopped by its brake", name)
		case ownCap(&p):
			o.add("bad", pauseStep(p, shellWord(name), open, time.Time{}).Command, "%s is stopped by its cap, with %s open", name, rowsOf(open))
		}
	}
}

// stopped tells that the subject of an alert is a run that its brake or its own cap has
// stopped, of which adviseRuns says more.
func (o *overview) stopped(subject string) bool {
	return slices.ContainsFunc(o.Pauses, func(p limiter.Pause) bool {
		at, _, _ := strings.Cut(strings.TrimPrefix(subject, "run/"), " ")
		return p.Run != "" && p.Run == at && (p.Reason == scheduler.ReasonBrake || ownCap(&p)) &&
			slices.ContainsFunc(o.Runs, func(r runStatus) bool { return r.ID == at && r.counts.Open() > 0 })
	})
}

// advisedAnyway are alerts of what the advice finds by itself, and with more detail.
var advisedAnyway = []string{scheduler.AlertWorkers, scheduler.AlertCredentials}

// firing tells that the caps of a node are among the alerts that hold, which say more
// than the event of one of their levels.
func (o *overview) firing(node string) bool {
	return o.Health.Leader != nil && slices.ContainsFunc(o.Alerts, func(a scheduler.Alert) bool {
		return a.Kind == scheduler.AlertCap && node != "" && strings.HasPrefix(a.Subject, node+" ")
	})
}

// broken tells that an event is of a breaker that is open still, of which adviseBroken
// says the same: the event has its words.
func (o *overview) broken(text string) bool {
	return slices.ContainsFunc(o.Lanes, func(l limiter.LaneState) bool {
		b := l.Broken()
		return b != nil && b.Detail != "" && strings.Contains(text, b.Detail)
	})
}

// adviseAlerts has what the leader found, and repeats what somebody should have looked
// at in the last half hour: of one thing the latest.
func (o *overview) adviseAlerts() {
	for _, a := range o.Alerts {
		if o.Health.Leader != nil && !slices.Contains(advisedAnyway, a.Kind) && !o.stopped(a.Subject) {
			o.add("warn", a.Command, "%s (since %s)", told(a.Text, o.At), clock(a.Since, o.At))
		}
	}
	for _, e := range o.Events {
		if e.Kind == limiter.EventAlert && e.Data["alert"] == "" && o.At.Sub(e.At) < 30*time.Minute && !o.past(e) && !o.firing(e.Subject) && !o.stopped(e.Subject) && !o.broken(e.Text) {
			o.add("warn", alertCommand(e), "%s (%s)", eventText(e, time.Local), clock(e.Happened(), o.At))
		}
	}
}
