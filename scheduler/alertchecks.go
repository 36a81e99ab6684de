package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// finding is an alert that holds at the moment; it is told once it has for so long.
type finding struct {
	Alert
	hold  time.Duration
	event bool // it is among the events already, by those who look for it first
}

// findings are all that hold, by what they are of.
func (r AlertRules) findings(f AlertFacts) (out []finding) {
	for _, check := range []func(AlertFacts) []finding{
		r.refusals, r.queues, r.tokens, r.caps, r.paused, r.credentials, r.limits, r.estimates, r.workers,
	} {
		out = append(out, check(f)...)
	}
	return slices.DeleteFunc(out, func(x finding) bool { return r.Off[x.Kind] })
}

// sums adds the samples up by what they are told apart by; the keys are in order.
func sums(samples []gemini.UsageSample, key func(gemini.UsageSample) string) (keys []string, by map[string]gemini.UsageSample) {
	by = map[string]gemini.UsageSample{}
	for _, s := range samples {
		k := key(s)
		sum, there := by[k]
		if !there {
			sum = gemini.UsageSample{Model: s.Model, Region: s.Region, Class: s.Class, Feature: s.Feature}
		}
		sum.Merge(s)
		by[k] = sum
	}
	return slices.Sorted(maps.Keys(by)), by
}

// refusals are 429s of calls that people wait for. What a tenant's own limit refuses is
// as it was meant; money, a refused key and what somebody stopped have alerts of their own.
func (r AlertRules) refusals(f AlertFacts) (out []finding) {
	keys, by := sums(f.Lately, func(s gemini.UsageSample) string { return s.Class + " of " + s.Model })
	for _, k := range keys {
		s := by[k]
		if !f.waitedFor(s.Class) {
			continue
		}
		for _, x := range []struct {
			kind, who, command string
			n                  int64
		}{
			{AlertProvider429, "the provider refuses", "nightshift quota who", s.Provider429},
			{AlertLimiter429, "we refuse", "nightshift why " + s.Class, s.ContestedHere() + closed(s)},
		} {
			if x.n >= r.Refusals && float64(x.n) >= r.RefusedRatio*float64(s.Calls) {
				text := fmt.Sprintf("%s %s of %s calls of %s (%s in %s)", x.who, humanize.Comma(x.n), humanize.Comma(s.Calls), k, part(x.n, s.Calls), shortTime(r.Over))
				out = append(out, finding{Alert: Alert{Kind: x.kind, Subject: k, Text: text, Command: x.command}})
			}
		}
	}
	return out
}

// closed are a sample's refusals by a breaker, of which no other alert tells.
func closed(s gemini.UsageSample) (n int64) {
	for _, c := range s.RefusedBy() {
		if c.Name == string(limiter.ReasonBreaker) {
			n += c.N
		}
	}
	return n
}

// part is n of all in percent.
func part(n, all int64) string { return limiter.Percent(float64(n) / float64(max(all, 1))) }

// shortTime is a length of time to the minute, of less than one to the second.
func shortTime(d time.Duration) string {
	if d >= time.Minute {
		return limiter.ShortDuration(d.Round(time.Minute))
	}
	return limiter.ShortDuration(d.Round(time.Second))
}

// queues tells of lines that grow and go on growing: what somebody enqueued at once
// makes one half of the time grow, not both.
func (r AlertRules) queues(f AlertFacts) (out []finding) {
	first, middle, ok := halves(f.Past, f.At, r.QueueOver)
	if !ok {
		return nil
	}
	for _, class := range slices.Sorted(maps.Keys(f.Queues)) {
		was, then, now := first.Rows[class], middle.Rows[class], f.Queues[class]
		if f.meantToWait(class) || then-was < r.QueueRows || now-then < r.QueueRows {
			continue
		}
		text := fmt.Sprintf("more rows of %s come than end: %s were open %s ago, %s are now", class, humanize.Comma(was), shortTime(f.At.Sub(first.At)), humanize.Comma(now))
		out = append(out, finding{Alert: Alert{Kind: AlertQueue, Subject: class, Text: text, Command: "nightshift why " + class}})
	}
	return out
}

// halves are the moments at the begin and in the middle of a time; not ok while less of
// it is known.
func halves(past []QueueMoment, now time.Time, over time.Duration) (first, middle QueueMoment, ok bool) {
	for _, m := range past {
		switch ago := now.Sub(m.At); {
		case ago >= over:
			first, ok = m, true
		case ago >= over/2:
			middle = m
		}
	}
	return first, middle, ok && !middle.At.IsZero()
}

// meantToWait says that somebody wants the rows of a class to wait now.
func (f AlertFacts) meantToWait(class string) bool {
	meant := func(reason string) bool { return reason == ReasonWindow || reason == ReasonOperator }
	return slices.ContainsFunc(f.Pauses, func(p limiter.Pause) bool { return p.Class == class && meant(p.Reason) }) ||
		slices.ContainsFunc(f.Throttles, func(t limiter.Throttle) bool { return t.Class == class && meant(t.Reason) })
}

const (
	tokensLeast    = 20  // requests; fewer say nothing of their size
	tokensPart     = 0.1 // of all input that it is, or would usually be: less presses on nobody
	estimatesLeast = 50  // measured calls
	loweredLeast   = 50_000
)

// tokens tells of requests whose input is far from their usual.
func (r AlertRules) tokens(f AlertFacts) (out []finding) {
	keys, by := sums(f.Lately, UsualKey)
	all := int64(0)
	for _, s := range by {
		all += s.InputTokens
	}
	for _, k := range keys {
		s, usual := by[k], f.Usual[k]
		if s.Requests < tokensLeast || usual <= 0 {
			continue
		}
		now := float64(s.InputTokens) / float64(s.Requests)
		if max(now, usual)*float64(s.Requests) < tokensPart*float64(all) || now < usual*r.Tokens && now > usual/r.Tokens {
			continue
		}
		odd := fmt.Sprintf("%.1f times as many", now/usual)
		if now < usual {
			odd = "is something missing from its prompts?"
		}
		text := fmt.Sprintf("a request of %s (%s) to %s has %s input tokens, usually %s: %s", s.Feature, s.Class, s.Model,
			humanize.Comma(int64(now)), humanize.Comma(int64(usual)), odd)
		out = append(out, finding{Alert: Alert{Kind: AlertTokens, Subject: s.Feature + " (" + s.Class + ") to " + s.Model, Text: text, Command: "nightshift quota who " + s.Model}})
	}
	return out
}

// caps tells of levels of money. What a run may cost is told by the run's own events.
func (r AlertRules) caps(f AlertFacts) (out []finding) {
	for _, o := range f.Caps {
		if !o.IsCap() || o.Shadow || strings.HasPrefix(o.Node, "run/") {
			continue
		}
		level := r.capLevel(o.CapState)
		if level == 0 {
			continue
		}
		command := "nightshift spend show"
		if len(o.Stopped) > 0 || level >= softLevel(o.CapState) {
			command = setCommand(o)
		}
		out = append(out, finding{event: true, Alert: Alert{Kind: AlertCap, Subject: o.Node + " " + o.Name, Level: level, Text: levelWords(o, f.At, ""), Command: command}})
	}
	return out
}

func (r AlertRules) capLevel(s limiter.CapState) int64 {
	if len(r.Caps) == 0 {
		return levelOf(s)
	}
	at, reached := s.Used*100/max(s.Amount, 1), int64(0)
	for _, level := range r.Caps {
		if at >= min(level, full) {
			reached = max(reached, level)
		}
	}
	return reached
}

// paused tells of what is closed for longer than anybody meant. Windows are meant; so is
// what people pause until a time.
func (r AlertRules) paused(f AlertFacts) (out []finding) {
	for _, p := range f.Pauses {
		least, mine := r.Paused, p.Reason == ReasonOperator || p.Reason == ReasonStop
		if mine {
			least = max(least, oldAfter)
		}
		if p.Reason == ReasonWindow || mine && !p.Until.IsZero() && !isMirror(p) || f.At.Sub(p.Since) < least {
			continue
		}
		target, command := targetOf(p), "nightshift why "+targetOf(p).String()
		switch p.Reason {
		case ReasonOperator, ReasonBrake:
			command = "nightshift resume " + target.String()
		case ReasonHealth:
			command = "nightshift health show"
		}
		text := fmt.Sprintf("%s has been paused for %s, by %s (%s)", target.Describe(), shortTime(f.At.Sub(p.Since).Round(time.Minute)), cmp.Or(p.Owner, "somebody"), cmp.Or(p.Detail, p.Reason))
		out = append(out, finding{event: mine, Alert: Alert{Kind: AlertPaused, Subject: target.String() + " " + p.Reason, Text: text, Command: command}})
	}
	return out
}
