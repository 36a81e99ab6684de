package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"nightshift/jobs"
)

// tried is what came of a sample.
type tried struct {
	run   jobs.Run
	made  []jobs.Result // rows that have their end
	spent int64         // micro-dollars of all calls made now: also of rows that were called off
}

// try makes the rows in this process and gives what came back, also when it was
// interrupted: then the rest is called off.
func (o *sampleOptions) try(ctx context.Context, f *factory, s *session, p *jobs.Prepared) (t tried, err error) {
	sink, err := s.sampleSink(p)
	if err != nil {
		return t, err
	}
	if sink != nil {
		defer func() { err = firstError(err, sink.Close()) }()
	}
	known, err := o.known(ctx, s, p)
	if err != nil {
		return t, err
	}
	rep, err := s.store.Enqueue(ctx, p, jobs.EnqueueOptions{Reuse: known})
	if err != nil {
		return t, enqueueError(err)
	}
	t.run = rep.Run
	if rep.Known > 0 { // a sample that was called off goes on
		if _, err := s.store.Retry(ctx, t.run.ID, jobs.RetryFilter{States: []jobs.State{jobs.Cancelled}}); err != nil {
			return t, err
		}
	}
	t.spent, err = s.priced(ctx, f, t.run, func() error { return s.tryOpen(ctx, f, t.run, p.Name, sink) })
	after := context.WithoutCancel(ctx)
	var held *heldError
	if ctx.Err() != nil || errors.As(err, &held) {
		if _, cancelErr := s.store.Cancel(after, t.run.ID); cancelErr != nil {
			s.log.Warn("rows of the sample that are left are still enqueued", "run", t.run.ID, "err", cancelErr)
		}
	}
	readErr := s.store.Results(after, t.run.ID, jobs.ResultsOptions{}, func(r jobs.Result) error {
		if r.Status != jobs.Cancelled.String() {
			t.made = append(t.made, r)
		}
		return nil
	})
	return t, firstError(err, readErr)
}

// tryOpen works at the rows that have no end yet.
func (s *session) tryOpen(ctx context.Context, f *factory, run jobs.Run, name string, sink *jobs.FileSink) error {
	counts, err := s.store.Counts(ctx, run.ID)
	if err != nil || counts.Open() == 0 {
		return err
	}
	if err := s.queueHold(ctx, run, f.now()); err != nil {
		return err
	}
	f.say("trying %s of %s with real calls", plural(int(counts.Open()), "row"), name)
	if sink == nil { // an interface that holds a nil pointer is not nil
		return s.work(ctx, f, run, nil)
	}
	return s.work(ctx, f, run, sink)
}

// priced says what a run's calls cost while work went on. The meter counts every
// call; results have only those of rows that came to an end.
func (s *session) priced(ctx context.Context, f *factory, run jobs.Run, work func() error) (int64, error) {
	ctx = context.WithoutCancel(ctx)
	before, err := s.moneyOf(ctx, run, f.now())
	if err != nil {
		return 0, err
	}
	err = work()
	after, readErr := s.moneyOf(ctx, run, f.now())
	return max(after-before, 0), firstError(err, readErr)
}

// sampleSink is the file that keeps what is tried with the embedded Redis, which
// forgets; with a shared one the run keeps it, and there is none.
func (s *session) sampleSink(p *jobs.Prepared) (*jobs.FileSink, error) {
	if s.embedded == nil {
		return nil, nil
	}
	file := s.conf.sampleFile(p.Spec)
	if err := firstError(os.MkdirAll(filepath.Dir(file), 0o700), trimSamples(file)); err != nil {
		return nil, err
	}
	return jobs.OpenFileSink(file, jobs.FileSinkOptions{Fallback: filepath.Join(s.conf.stateDir(), "unwritten")})
}

// known is what is answered of the rows, as far as it is to be taken over.
func (o *sampleOptions) known(ctx context.Context, s *session, p *jobs.Prepared) (*jobs.Lookup, error) {
	if s.embedded == nil {
		return o.lookUp(ctx, s.backend, p)
	}
	return o.lookUp(ctx, s.backend, p, s.conf.sampleFile(p.Spec))
}

// interruptedWords say what becomes of the rows when the same command is given again.
func (o *sampleOptions) interruptedWords(s *session) string {
	_, on := s.conf.reuse()
	switch {
	case !on && (o.Force || s.embedded != nil):
		return "reuse is off: the same command asks them again"
	case o.Force:
		return "their answers are kept: the same command without --force goes on"
	}
	return "their answers are kept: the same command goes on"
}

// takenOverWords say what becomes of what was paid.
func (l *loaded) takenOverWords() string {
	if _, on := l.reuse(); !on {
		return "reuse is off: enqueue and run ask these rows again"
	}
	return "kept: enqueue and run take these answers over"
}
