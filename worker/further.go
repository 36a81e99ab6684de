package worker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

const (
	// maxSaid bounds what is quoted of an answer that broke the schema. Its
	// beginning and its fault are enough to see what was wrong, and it is input
	// that is paid for.
	maxSaid = 16 << 10
	// maxParts bounds how often the rest of one answer is asked for.
	maxParts = 10
	// hotter is by how much a temperature is raised after a recitation; the
	// model's own is about 1, and the API takes 2 at most
	// (https://ai.google.dev/api/generate-content#GenerationConfig).
	hotter         = 0.5
	temperature    = 1.0
	maxTemperature = 2.0
)

// further decides whether an answer that is no success is worth one more call of
// another kind than the one before: with its fault said, with a larger cap,
// hotter, or for its rest. Such a call is no attempt, each kind has a bound of its
// own, and the draft keeps what it is to ask for.
func (l *lane) further(j *job, out outcome) outcome {
	if out.fail == nil || out.finish == "" {
		return out // no answer came
	}
	d := &j.draft
	switch f := gemini.FinishOf(out.finish); {
	case out.fail.Cause == causeSchema && d.Reasked < j.run.Spec.Reask:
		d.Reasked, d.Fault, d.Said = d.Reasked+1, out.fail.Message, cutText(out.output, maxSaid)
	case f.End == gemini.FinishCut && d.Cap == 0 && l.larger(j) > 0:
		d.Cap = l.larger(j)
	case f.Hotter && !d.Hot && heat(j.shape.config.Temperature) > orDefault(j.shape.config.Temperature):
		d.Hot = true
	case len(out.token) > 0 && d.Parts < maxParts:
		d.Token, d.Head, d.Parts = out.token, out.output, d.Parts+1
	default:
		return out
	}
	d.Extra++
	out.again = true
	return out
}

// larger is twice the run's output cap, as far as the model goes; 0 where the run
// does not want it, has no cap, or the model gives no more.
func (l *lane) larger(j *job) int32 {
	most := j.shape.config.MaxOutputTokens
	if !j.run.Spec.Regrow || most <= 0 {
		return 0
	}
	limit := int64(gemini.DefaultMaxOutput)
	if l.w.cfg.Models != nil {
		if _, model, err := l.w.cfg.Models.Lookup(j.run.Spec.Model); err == nil {
			limit = model.MaxOutput
		}
	}
	if grown := min(2*int64(most), limit); grown > int64(most) {
		return int32(grown)
	}
	return 0
}

func orDefault(t *float32) float32 {
	if t == nil {
		return temperature
	}
	return *t
}

func heat(t *float32) float32 { return min(orDefault(t)+hotter, maxTemperature) }

// joined puts the parts of an answer together that came in several calls.
func (j *job) joined(out outcome) outcome {
	if head := j.draft.Head; head != "" && out.finish != "" {
		out.output = head + out.output
	}
	return out
}

// loadDraft reads what earlier calls brought. A row at its first attempt has had none,
// unless flex shed it, which is no attempt.
func (l *lane) loadDraft(ctx context.Context, j *job) (err error) {
	if j.attempt > 1 || ByFlex(j.run.Spec) {
		j.draft, err = l.w.cfg.Store.Draft(ctx, j.task)
	}
	return err
}

// keepDraft writes down what a call brought that is no end yet. False says that
// Redis did not take it: then there is nothing to go on from.
func (l *lane) keepDraft(ctx context.Context, j *job, out outcome) bool {
	if out.finish == "" && out.limit == 0 && j.draft.Extra == 0 {
		return true // no answer came, and none before: nothing to remember
	}
	if err := l.w.cfg.Store.SaveDraft(ctx, j.task, j.noted(out)); err != nil {
		l.w.cfg.Logger.Warn("what a call brought could not be kept", "row", j.row, "run", j.task.Run, "err", err)
		return false
	}
	return true
}

// noted is the draft after a bad answer: it is paid for, counts for its cause, and
// is the row's end if nothing better comes.
func (j *job) noted(out outcome) jobs.Draft {
	d := j.draft
	d.Tries = maps.Clone(d.Tries)
	if d.Tries == nil {
		d.Tries = map[string]int{}
	}
	d.Tries[out.fail.Cause]++
	d.Usage, d.MicroUSD = d.Usage.Add(out.usage), addCost(d.MicroUSD, j.microUS)
	if out.finish == "" {
		return d
	}
	if out.fail.Cause == causeSchema {
		d.Raw = cmp.Or(d.Raw, out.raw, out.output)
	}
	end := out.end
	if end == jobs.None {
		end = lastState(out)
	}
	d.Status, d.Error, d.Output, d.Finish, d.Model = end.String(), out.fail, out.output, out.finish, out.model
	return d
}

// fallBack gives a row the end that an earlier answer had, when what came after it
// brought no answer at all.
func (j *job) fallBack(out outcome) outcome {
	d := j.draft
	if d.Error == nil || out.end.Good() || out.finish != "" || out.end == jobs.Expired {
		return out
	}
	kept := outcome{end: jobs.ParseState(d.Status), answer: answer{output: d.Output, finish: d.Finish, model: d.Model, usage: out.usage}}
	kept.fail = &jobs.RowError{Cause: d.Error.Cause, Status: d.Error.Status,
		Message: short(fmt.Sprintf("%s; a further call brought no answer (%s)", d.Error.Message, out.fail.Cause))}
	return kept
}

// raw is the first answer as it came, where the row's output is another text.
func (j *job) raw(out outcome) string {
	if first := cmp.Or(j.draft.Raw, out.raw); first != out.output {
		return first
	}
	return ""
}

func (l *lane) dropDraft(ctx context.Context, j *job) {
	if j.draft.Extra == 0 && len(j.draft.Tries) == 0 {
		return
	}
	if err := l.w.cfg.Store.DropDraft(ctx, j.task); err != nil {
		l.w.cfg.Logger.Debug("a finished row's draft stays until its run is purged", "row", j.row, "run", j.task.Run, "err", err)
	}
}

// cutText keeps the beginning of a text, between runes.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func addCost(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}
