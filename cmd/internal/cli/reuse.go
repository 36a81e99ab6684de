package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// reuseFlags say what becomes of rows whose question has a good answer already.
type reuseFlags struct {
	Force      bool
	RedoUnseen bool
}

func (o *reuseFlags) addReuseFlags(fl *pflag.FlagSet) {
	fl.BoolVar(&o.Force, "force", false, "ask for every row, also for those that another run has a good answer to")
	fl.BoolVar(&o.RedoUnseen, "redo-unseen", false, "ask again for rows whose good answers are in files of another host")
}

// lookUp finds the rows that have a good answer of another run; nil where none is
// to be taken over. files are results files to look in too.
func (o *reuseFlags) lookUp(ctx context.Context, be *backend, p *jobs.Prepared, files ...string) (*jobs.Lookup, error) {
	keep, on := be.conf.reuse()
	if o.Force || !on {
		return nil, nil
	}
	return be.store.LookUp(ctx, p, jobs.LookUpOptions{Keep: keep, Files: files})
}

// toReuse is lookUp for who is about to enqueue: answers that are not to be seen
// from here are not paid for twice unasked.
func (o *reuseFlags) toReuse(ctx context.Context, be *backend, p *jobs.Prepared, files ...string) (*jobs.Lookup, error) {
	l, err := o.lookUp(ctx, be, p, files...)
	if err != nil || l == nil || o.RedoUnseen || len(l.Unseen) == 0 {
		return l, err
	}
	return nil, fmt.Errorf("%s. Nothing was enqueued.\nEnqueue there, or make the directory visible here; --redo-unseen asks and pays for these rows again", unseenWords(l))
}

// unseenWords says how many answers are where.
func unseenWords(l *jobs.Lookup) string {
	var parts []string
	for _, u := range l.Unseen {
		parts = append(parts, fmt.Sprintf("%s unchanged rows have their answers on host %s in %s (run %s), which this process does not see",
			humanize.Comma(u.Rows), u.Host, u.Dir, u.Run.Title()))
	}
	return strings.Join(parts, ";\n")
}

// reusedFrom is one place that answers came from.
type reusedFrom struct {
	Run  string `json:"run,omitempty"`
	Name string `json:"name,omitempty"`
	File string `json:"file,omitempty"`
	Rows int64  `json:"rows"`
}

// usualAPI is the base URL of the Gemini API.
const usualAPI = "https://generativelanguage.googleapis.com"

// answersFrom tells simulations and other addresses apart from the API itself: no
// run takes answers over from another of them.
func (l *loaded) answersFrom() string {
	switch {
	case l.Gemini.API == "simulated":
		return "simulated"
	case l.Gemini.API == "live" && l.Gemini.BaseURL != usualAPI:
		return l.Gemini.BaseURL
	}
	return ""
}

// mostPlaces bounds how many places a sentence names.
const mostPlaces = 3

// placesOf lists where a lookup's answers are, for JSON and in words.
func placesOf(l *jobs.Lookup) (list []reusedFrom, words string) {
	if l == nil {
		return nil, ""
	}
	var names []string
	for _, t := range l.From() {
		list = append(list, reusedFrom{Run: t.Run.ID, Name: t.Run.Spec.Name, File: t.File, Rows: t.Rows})
		names = append(names, t.Title())
	}
	if more := len(names) - mostPlaces; more > 0 {
		names = append(names[:mostPlaces], fmt.Sprintf("%d more", more))
	}
	return list, strings.Join(names, ", ")
}

// putAll writes results side by side, so that they share the file's syncs.
func putAll(ctx context.Context, sink jobs.Sink, rs []jobs.Result) error {
	errs := make([]error, len(rs))
	var all sync.WaitGroup
	for i, r := range rs {
		all.Go(func() { errs[i] = sink.Put(ctx, r) })
	}
	all.Wait()
	return firstError(errs...)
}

// countReused tells the history of rows that needed no call. That it may fail is no
// reason to say that the enqueue did.
func (b *backend) countReused(batch *batch, rep jobs.EnqueueReport) {
	s := rep.Run.Spec
	err := gemini.CountReused(b.rdb, b.conf.scope(), processName("enqueue"), gemini.ReusedRows{
		Lane: batch.quota.lane, Class: s.Class, Feature: s.Feature, Tenant: s.Tenant, Rows: rep.Reused,
	})
	if err != nil {
		b.log.Warn("rows that took a result over are missing from the history", "run", rep.Run.ID, "rows", rep.Reused, "error", err)
	}
}
