package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/cmd/internal/dashboard"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// runOf is the run that a form is about.
func (b *backend) runOf(ctx context.Context, form url.Values) (jobs.Run, error) {
	if strings.TrimSpace(form.Get("target")) == "" {
		return jobs.Run{}, errors.New("the form names no run; nothing was changed")
	}
	return b.store.Find(ctx, form.Get("target"))
}

// cancelAction ends the open rows of a run, as `nightshift cancel` does.
func (b *backend) cancelAction() dashboard.Action {
	return dashboard.Action{
		Name: "cancel", Title: "Cancel",
		Preview: func(ctx context.Context, _ dashboard.Viewer, form url.Values) (string, error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return "", err
			}
			counts, err := b.store.Counts(ctx, run.ID)
			if err == nil && counts.Open() == 0 {
				err = fmt.Errorf("%s has no open row: there is nothing to cancel", run.Title())
			}
			return fmt.Sprintf("Cancel %s? Its %s open rows end without an answer; rows that have ended stay as they are, and calls in flight finish, since they are paid for. "+
				"Retry makes cancelled rows later.", run.Title(), humanize.Comma(counts.Open())), err
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return out, err
			}
			return b.onRun(ctx, run, func(f *factory) error { return runCancel(ctx, &cancelOptions{factory: f}, b, run) }, limiter.Event{By: by.By()}, by)
		},
	}
}

// retryAction enqueues failed rows again, as `nightshift retry` does: all of them, or
// those of the form's cause.
func (b *backend) retryAction() dashboard.Action {
	return dashboard.Action{
		Name: "retry", Title: "Retry",
		Preview: func(ctx context.Context, _ dashboard.Viewer, form url.Values) (string, error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return "", err
			}
			only := onlyOf(form)
			if err := firstError(b.pastDeadline(run, only, time.Now()), b.checkCauses(ctx, run, causesAmong(only))); err != nil {
				return "", err
			}
			n, err := b.failedOf(ctx, run, only)
			if err == nil && n == 0 {
				err = fmt.Errorf("no row of %s failed of that: there is nothing to retry", run.Title())
			}
			return fmt.Sprintf("Ask %s of %s again? They go into the line like new rows, and cost like new rows.", plural(int(n), "row"), run.Title()), err
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return out, err
			}
			return b.onRun(ctx, run, func(f *factory) error {
				return runRetry(ctx, &retryOptions{factory: f, Only: onlyOf(form)}, b, run)
			}, limiter.Event{By: by.By()}, by)
		},
	}
}

func onlyOf(form url.Values) []string {
	return slices.DeleteFunc(strings.Split(form.Get("only"), ","), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// causesAmong are the words that are no states.
func causesAmong(only []string) []string {
	return slices.DeleteFunc(slices.Clone(only), func(s string) bool { return jobs.ParseState(s).Terminal() })
}

// failedOf is how many rows a retry would take.
func (b *backend) failedOf(ctx context.Context, run jobs.Run, only []string) (n int64, err error) {
	if len(only) == 0 {
		counts, err := b.store.Counts(ctx, run.ID)
		return counts.Bad(), err
	}
	table := causeTable{}
	err = b.eachFailed(ctx, run, table.add)
	for _, c := range table {
		if slices.Contains(only, c.Cause) || slices.Contains(only, c.State) {
			n += c.Rows
		}
	}
	if slices.Contains(only, jobs.Cancelled.String()) && err == nil {
		var counts jobs.Counts
		counts, err = b.store.Counts(ctx, run.ID)
		n += counts[jobs.Cancelled]
	}
	return n, err
}

// onRun does what a command does to a run. What it prints is what is said, in one
// line; what the rows were before and after is for the record.
func (b *backend) onRun(ctx context.Context, run jobs.Run, do func(*factory) error, e limiter.Event, by dashboard.Viewer) (out dashboard.Outcome, err error) {
	out.Target = "run " + run.Title()
	before, err := b.store.Counts(ctx, run.ID)
	if err != nil {
		return out, err
	}
	var said strings.Builder
	if err := do(b.asCommand(by, &said)); err != nil {
		return out, err
	}
	out.Said = oneSentence(said.String())
	after, err := b.store.Counts(ctx, run.ID)
	out.Before, out.After = countsLine(before), countsLine(after)
	e.Kind, e.Subject, e.Text = scheduler.EventRun, run.ID, out.Said
	return out, firstError(err, b.lim.Note(ctx, e))
}

// oneSentence puts a command's lines behind each other, without their columns.
func oneSentence(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// setOf is what `nightshift set` makes of a form: one setting of a run.
func (b *backend) setOf(by dashboard.Viewer, form url.Values, said *strings.Builder) (*setRunOptions, string, error) {
	name, value := form.Get("name"), strings.TrimSpace(form.Get("value"))
	if !slices.ContainsFunc(runSettings, func(s runSetting) bool { return s.name == name }) {
		return nil, name, fmt.Errorf("there is no setting %q; nothing was changed", name)
	}
	return &setRunOptions{factory: b.asCommand(by, said).as("json"), texts: map[string]*string{name: &value}}, name, nil
}

// setAction changes a setting of a run, as `nightshift set` does.
func (b *backend) setAction() dashboard.Action {
	return dashboard.Action{
		Name: "set", Title: "Change",
		Preview: func(ctx context.Context, by dashboard.Viewer, form url.Values) (string, error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return "", err
			}
			o, name, err := b.setOf(by, form, &strings.Builder{})
			if err != nil {
				return "", err
			}
			spec := run.Spec
			if err := o.read(b, &spec, []string{name}); err != nil {
				return "", err
			}
			s := settingNamed(name)
			return fmt.Sprintf("Change %s of %s: %s → %s? It holds within seconds, in every process.", name, run.Title(),
				s.shown(b.conf, run.Spec, o.now()), s.shown(b.conf, spec, o.now())), nil
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			run, err := b.runOf(ctx, form)
			if err != nil {
				return out, err
			}
			out.Target = "run " + run.Title()
			var printed, notes strings.Builder
			o, name, err := b.setOf(by, form, &printed)
			if err != nil {
				return out, err
			}
			o.Err = &notes
			if err := o.change(ctx, b, run, []string{name}); err != nil {
				return out, err
			}
			var list []settingShown
			if err := json.Unmarshal([]byte(printed.String()), &list); err != nil || len(list) == 0 {
				return out, firstError(err, errors.New("it is set, and what it was is not known"))
			}
			out.Before, out.After = name+" "+list[0].Was, name+" "+list[0].Value
			out.Said = strings.TrimSuffix(fmt.Sprintf("%s of %s: %s → %s. %s", name, run.Title(), list[0].Was, list[0].Value, oneSentence(notes.String())), ". ")
			return out, nil
		},
	}
}
