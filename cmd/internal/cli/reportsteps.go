package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

func (r *runReport) do(steps ...reportStep) { r.Do = append(r.Do, steps...) }

// stepsFor is what a person should do about a run, the most urgent first.
func (b *backend) stepsFor(ctx context.Context, s runStatus) []reportStep {
	name := shellWord(orElse(s.Name, s.ID))
	var steps []reportStep
	if p := b.runPause(ctx, s.ID); p != nil && s.counts.Open() > 0 {
		steps = append(steps, pauseStep(*p, name, s.counts.Open(), s.expires))
	} else if s.counts.Open() > 0 && s.Workers == 0 && !s.hold.paused {
		steps = append(steps, reportStep{fmt.Sprintf("%s rows are open and no worker serves them", humanize.Comma(s.counts.Open())), "nightshift worker"})
	}
	return steps
}

// runPause is what a person has to lift of the run itself; nil for nothing.
func (b *backend) runPause(ctx context.Context, run string) *limiter.Pause {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return nil // the report has been made from them a moment ago
	}
	var found *limiter.Pause
	for i, p := range pauses {
		if p.Run == run && p.Reason != scheduler.ReasonWindow && (found == nil || p.Reason == scheduler.ReasonBrake) {
			found = &pauses[i]
		}
	}
	return found
}

// pauseStep lifts what holds a run; expires is when a deadline ends its rows, zero for
// never.
func pauseStep(p limiter.Pause, name string, open int64, expires time.Time) reportStep {
	left := humanize.Comma(open) + " rows are left"
	switch p.Reason {
	case scheduler.ReasonBrake:
		return reportStep{fmt.Sprintf("its brake stopped it; %s: %s. Mend that, then", left, strings.TrimRight(p.Detail, ".")), "nightshift resume " + name}
	case scheduler.ReasonBudget:
		spent, more, known := strings.Cut(p.Detail, ": nightshift set ")
		command := "nightshift set " + name + " --max-cost DOLLARS"
		if known { // with how much lets the rest go
			command = "nightshift set " + strings.TrimSuffix(more, " goes on")
		}
		return reportStep{fmt.Sprintf("its money is spent; %s%s. For more", left, inDetail(spent)), command}
	}
	why := fmt.Sprintf("%s paused it%s; %s", orElse(p.Owner, "somebody"), inDetail(p.Detail), left)
	switch {
	case !expires.IsZero() && (p.Until.IsZero() || !p.Until.Before(expires)):
		why += " and end without a call at the deadline, " + expires.Local().Format("Mon 15:04:05 MST") + ", before the pause does. To go on now"
	case !p.Until.IsZero():
		why += " and go on by themselves " + p.Until.Local().Format("Mon 15:04 MST") + ". To go on now"
	}
	return reportStep{why, "nightshift resume " + name}
}

func inDetail(detail string) string {
	if detail == "" {
		return ""
	}
	return " (" + strings.TrimRight(detail, ".") + ")"
}

// failedSteps mend what failed: one command a cause, the most frequent first.
func (r *runReport) failedSteps() (steps []reportStep) {
	name := typed(r.Run)
	for i, c := range r.Failed {
		if i == mostSteps {
			steps = append(steps, reportStep{fmt.Sprintf("%s of other causes", rowsOf(r.restOf(i))), "nightshift errors " + name})
			break
		}
		word := orElse(c.Cause, c.State)
		steps = append(steps, reportStep{fmt.Sprintf("%s %s (%s)%s", rowsOf(c.Rows), c.State, word, mendWords(c)), retryCommand(r.Run, word, r.At)})
	}
	if n := r.States[jobs.Cancelled.String()]; n > 0 {
		steps = append(steps, reportStep{rowsOf(n) + " cancelled. If they are wanted after all", retryCommand(r.Run, "cancelled", r.At)})
	}
	if r.Run.LeftOut > 0 && r.Run.LeftIn != "" && r.Run.Spec.Name != "" {
		why := leftOutWords(r.Run) + `. Mend each "row" there, then, with the same template`
		steps = append(steps, reportStep{why, "nightshift enqueue " + shellWord(r.Run.LeftIn) + " --name " + name})
	}
	if len(steps) == 0 && r.Bad > 0 { // their results are not here
		steps = append(steps, reportStep{rowsOf(r.Bad) + " without a good answer", retryCommand(r.Run, "", r.At)})
	}
	return steps
}

// retryCommand makes rows of a run again: those of a cause or state, "" for all without a
// good answer. Where a deadline has passed that would end them at once, that comes first.
func retryCommand(run jobs.Run, word string, now time.Time) string {
	name := typed(run)
	command := "nightshift retry " + name
	if word != "" {
		command += " --only " + shellWord(word)
	}
	if run.Spec.Steer.Late(now) > 0 {
		command = "nightshift set " + name + " --deadline TIME, then " + command
	}
	return command
}

// mostSteps are the causes that have a command each on the page.
const mostSteps = 3

func (r *runReport) restOf(from int) (n int64) {
	for _, c := range r.Failed[from:] {
		n += c.Rows
	}
	return n
}

func rowsOf(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return humanize.Comma(n) + " rows"
}

// mendWords say what to change first, where trying again alone would end the same
// way; and "" where it may well help.
func mendWords(c *cause) string {
	switch {
	case c.State == jobs.Blocked.String():
		return ": the model refuses their content and will again; change the rows or the prompt, then"
	case c.State == jobs.Truncated.String():
		return ": their answers are cut off; give them more room (max_output_tokens) or ask for less, then"
	case c.State == jobs.Expired.String():
		return ": their time ran out before their turn came. Again"
	case c.Cause == "schema":
		return ": their answers broke the schema, also when asked again; loosen it or change the prompt, then"
	case c.Cause == "template" || c.Cause == "invalid_request" || c.Cause == "invalid_run" || strings.HasPrefix(c.Cause, "http_4"):
		return ": the request itself is at fault; mend rows or template, then"
	}
	return ". Again"
}
