package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// credentials tells of keys that the provider refuses: of one lane, or of all.
func (r AlertRules) credentials(f AlertFacts) (out []finding) {
	say := func(subject, detail string) {
		if slices.ContainsFunc(out, func(x finding) bool { return x.Subject == subject }) {
			return
		}
		text := fmt.Sprintf("the provider refuses our key for %s (%s): nothing goes out; give a key that works, then", subject, cmp.Or(detail, "no detail"))
		out = append(out, finding{Alert: Alert{Kind: AlertCredentials, Subject: subject, Text: text, Command: "nightshift resume " + f.pausable()}})
	}
	for _, b := range f.Breakers {
		if b.Reason == limiter.ReasonCredentials {
			say(cmp.Or(shownNode(b.Lane), "the whole project"), b.Detail)
		}
	}
	for _, l := range f.Lanes {
		if l.Cooldown != nil && l.Cooldown.Reason == limiter.ReasonCredentials {
			say(l.Lane.Model, l.Cooldown.Detail)
		}
	}
	return out
}

// pausable is a class that can be resumed: where a breaker is open, the next call of any
// looks again then.
func (f AlertFacts) pausable() string {
	for _, c := range f.Classes {
		if c.Pausable {
			return c.Name
		}
	}
	return "bulk"
}

// limits tells of limits that the provider's answers keep below what is configured.
func (r AlertRules) limits(f AlertFacts) (out []finding) {
	add := func(model, name string, most int64, x finding) {
		x.Kind, x.Subject = AlertLimits, model+" "+name
		x.Command = fmt.Sprintf("nightshift quota set %s %s=%d", model, name, most)
		if !slices.ContainsFunc(out, func(o finding) bool { return o.Subject == x.Subject }) {
			out = append(out, x)
		}
	}
	for _, b := range f.Bypass {
		if b.RPM > 0 && f.At.Sub(b.At) < bypassTells {
			out = append(out, finding{event: true, Alert: Alert{Kind: AlertLimits, Subject: shownNode(b.Lane) + " bypass", Text: b.String(), Command: "nightshift quota who " + shownNode(b.Lane)}})
		}
		if b.Quota < b.Configured {
			add(shownNode(b.Lane), "rpm", b.Quota, finding{Alert: Alert{Text: fmt.Sprintf(
				"the provider allows %s rpm on %s, and %s are configured", humanize.Comma(b.Quota), shownNode(b.Lane), humanize.Comma(b.Configured))}})
		}
	}
	for _, l := range f.Lanes {
		for _, x := range l.Limits {
			if x.Lowered == nil || x.Lowered.PPM < loweredLeast {
				continue
			}
			left := x.Amount - x.Amount*x.Lowered.PPM/1_000_000
			text := fmt.Sprintf("%s of %s is held at about %s of %s, since the provider refused more; if that is its limit", x.Name, l.Lane.Model, humanize.Comma(left), humanize.Comma(x.Amount))
			if x.Unbound() {
				out = append(out, finding{hold: r.Lowered, Alert: Alert{Kind: AlertLimits, Subject: l.Lane.Model + " " + x.Name, Command: "nightshift why " + l.Lane.Model,
					Text: fmt.Sprintf("about %s calls to %s run at once for now, since the provider is short of capacity; one more each second in which they are needed", humanize.Comma(left), l.Lane.Model)}})
				continue
			}
			add(l.Lane.Model, x.Name, left, finding{hold: r.Lowered, Alert: Alert{Text: text}})
		}
	}
	return out
}

// estimates tells of what is charged before a call and is not what it has: too little
// brings 429s, too much leaves quota unused. Of output too much is the rule until its
// usual size is learned, and no fault.
func (r AlertRules) estimates(f AlertFacts) (out []finding) {
	keys, by := sums(f.Lately, func(s gemini.UsageSample) string { return s.Model })
	for _, model := range keys {
		s := by[model]
		if s.Measured < estimatesLeast {
			continue
		}
		var off []string
		in, was := float64(s.EstimatedInput), float64(s.MeasuredInput)
		switch {
		case in < was*(1-r.Estimate):
			off = append(off, fmt.Sprintf("%s less input is charged than calls have", part(s.MeasuredInput-s.EstimatedInput, s.MeasuredInput)))
		case in > was*(1+r.Estimate):
			off = append(off, fmt.Sprintf("%s more input is charged than calls have", part(s.EstimatedInput-s.MeasuredInput, s.MeasuredInput)))
		}
		if float64(s.EstimatedOutput) < float64(s.MeasuredOutput)*(1-r.Estimate) {
			off = append(off, fmt.Sprintf("%s less output is charged than calls have", part(s.MeasuredOutput-s.EstimatedOutput, s.MeasuredOutput)))
		}
		if len(off) > 0 {
			text := fmt.Sprintf("estimates of %s are off: %s (%s calls)", model, strings.Join(off, ", "), humanize.Comma(s.Measured))
			out = append(out, finding{hold: r.Over, Alert: Alert{Kind: AlertEstimates, Subject: model, Text: text, Command: "nightshift quota review " + model}})
		}
	}
	return out
}

// workers tells of rows that could go out, and nobody who sends them.
func (r AlertRules) workers(f AlertFacts) (out []finding) {
	for _, l := range f.Idle {
		text := fmt.Sprintf("%s rows of %s wait for %s, and no worker serves it", humanize.Comma(l.Rows), strings.Join(l.Runs, ", "), shownNode(l.Lane))
		out = append(out, finding{hold: r.Workers, Alert: Alert{Kind: AlertWorkers, Subject: shownNode(l.Lane), Text: text, Command: "nightshift worker"}})
	}
	return out
}
