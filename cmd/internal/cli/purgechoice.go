package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// doomed is a run that purge is to remove.
type doomed struct {
	ID    string    `json:"id"`
	Name  string    `json:"name,omitempty"`
	Rows  int64     `json:"rows"`
	Good  int64     `json:"good"`
	Open  int64     `json:"open"`
	Ended time.Time `json:"ended,omitzero"` // of one without open rows
	Redis int64     `json:"redis_bytes"`
	Files int64     `json:"file_bytes"`

	run    jobs.Run
	counts jobs.Counts
	exact  bool
}

// choose finds the runs that are named, or those that the flags mean, the oldest
// first. A named one with open rows is refused unless these are to be cancelled.
func (o *purgeOptions) choose(ctx context.Context, be *backend, refs []string) ([]doomed, error) {
	if len(refs) == 0 {
		return o.finished(ctx, be)
	}
	var out []doomed
	for _, ref := range refs {
		run, err := be.store.Find(ctx, ref)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(d doomed) bool { return d.ID == run.ID }) {
			continue
		}
		d, err := be.doomed(ctx, run)
		if err != nil {
			return nil, err
		}
		if d.Open > 0 && !o.Cancel {
			return nil, fmt.Errorf("%s has %s open rows: wait for them (`nightshift wait %s`) or give --cancel, which ends them", run.Title(), humanize.Comma(d.Open), typed(run))
		}
		out = append(out, d)
	}
	return out, nil
}

func (o *purgeOptions) finished(ctx context.Context, be *backend) ([]doomed, error) {
	runs, err := be.store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	age := time.Duration(0)
	if o.OlderThan != "" {
		age, _ = parseDays(o.OlderThan) // was checked
	}
	var out []doomed
	for _, run := range slices.Backward(runs) {
		d, err := be.doomed(ctx, run)
		if err != nil {
			return nil, err
		}
		if d.Open == 0 && o.now().Sub(d.Ended) >= age {
			out = append(out, d)
		}
	}
	return out, nil
}

func (b *backend) doomed(ctx context.Context, run jobs.Run) (doomed, error) {
	c, err := b.store.Counts(ctx, run.ID)
	if err != nil {
		return doomed{}, err
	}
	size, err := b.store.Size(ctx, run.ID)
	if err != nil {
		return doomed{}, err
	}
	d := doomed{ID: run.ID, Name: run.Spec.Name, Rows: c.Total(), Good: c[jobs.Done] + c[jobs.Cached], Open: c.Open(),
		Redis: size.Redis, Files: size.Files, run: run, counts: c, exact: size.Exact}
	if d.Open == 0 {
		d.Ended, err = b.store.Ended(ctx, run)
	}
	return d, err
}

func purgeTable(list []doomed, now time.Time) *dataTable {
	t := newTable("RUN", "ROWS", "GOOD", "OPEN", "ENDED", "IN REDIS", "IN FILES").numeric(1, 2, 3)
	for _, d := range list {
		ended := "-"
		if !d.Ended.IsZero() {
			ended = ago(now.Sub(d.Ended))
		}
		redis := size(d.Redis)
		if !d.exact {
			redis = "at least " + redis
		}
		t.row(d.run.Title(), humanize.Comma(d.Rows), humanize.Comma(d.Good), humanize.Comma(d.Open), ended, redis, size(d.Files))
	}
	return t
}

// doomedWords is what is asked about.
func doomedWords(list []doomed) string {
	var rows, good, bytes int64
	for _, d := range list {
		rows, good, bytes = rows+d.Rows, good+d.Good, bytes+d.Redis+d.Files
	}
	what := list[0].run.Title()
	if len(list) > 1 {
		what = plural(len(list), "run")
	}
	return fmt.Sprintf("%s, %s rows, %s of them with a good answer, %s", what, humanize.Comma(rows), humanize.Comma(good), size(bytes))
}
