package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/scheduler"
)

type runOptions struct {
	specOptions
	Out    string
	Update bool
	Tell   tellFlags
}

func newRunCmd(f *factory) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run INPUT... -t TEMPLATE -o results.jsonl",
		Short: "Enqueue, work and export in one process; run again, it goes on where it stopped",
		Long: "Reads the INPUT files, calls Gemini for each row under the limits of the configuration, and\n" +
			"appends each result to the file as it comes. INPUT:\n" +
			inputKinds + "\n" +
			"Stopped or killed, the same command goes on with the rows that have no good result in the file\n" +
			"yet. With -o NAME.csv the results are appended to NAME.csv.jsonl, and NAME.csv is written from\n" +
			"that when the command ends.",
	}
	own := func() {
		cmd.Flags().StringVarP(&o.Out, "out", "o", "", "`FILE` for the results; - for standard output JSONL, or CSV for NAME.csv (default INPUT with .results.jsonl; of several inputs results.jsonl)")
		cmd.Flags().BoolVar(&o.Update, "update", false, "redo what changed: rows of the results file, and of the named run on a shared Redis")
		o.Tell.addNotifyFlags(cmd.Flags())
		o.Tell.addThenFlags(cmd.Flags())
	}
	return inputCommand(cmd, &o.specOptions, own, func(ctx context.Context, inputs []string) error { return runRun(ctx, f, o, cmd, inputs) })
}

func runRun(ctx context.Context, f *factory, o *runOptions, cmd *cobra.Command, inputs []string) error {
	if err := o.Tell.check(); err != nil {
		return err
	}
	out := outOf(o.outFile(inputs))
	if err := out.check(inputs); err != nil {
		return err
	}
	b, err := o.prepare(ctx, f, cmd, inputs)
	if err != nil {
		return err
	}
	defer b.close()
	s, err := f.openSession(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	sink, err := jobs.OpenFileSink(out.lines, jobs.FileSinkOptions{Stdout: f.Out, Fallback: filepath.Join(f.conf.stateDir(), "unwritten")})
	if err != nil {
		return err
	}
	if err := o.accept(ctx, sink, b, inputs); err != nil {
		return firstError(err, sink.Close())
	}
	reuse, err := o.reusable(ctx, s, b)
	if err != nil {
		return firstError(err, sink.Close())
	}
	tell, err := s.startHooks(ctx)
	if err != nil {
		return firstError(err, sink.Close())
	}
	defer tell.end()
	begun := time.Now()
	rep, err := s.store.Enqueue(ctx, b.Prepared, jobs.EnqueueOptions{Update: o.Update, Have: sink.Have, Claimed: s.steeredWith(sink), Reuse: reuse, Reused: into(sink)})
	if err != nil {
		return firstError(enqueueError(err), sink.Close())
	}
	if o.Update {
		n, err := sink.Refit(ctx, b.Prepared)
		if err != nil {
			return firstError(err, sink.Close())
		}
		rep.OtherFields = max(rep.OtherFields, n) // a run on a shared Redis has most of them in both
	}
	s.traceEnqueued(rep, begun)
	s.countReused(b, rep)
	if err := firstError(b.quota.usedToday(ctx, s.lim), o.Tell.notify(ctx, s.backend, rep.Run)); err != nil {
		return firstError(err, sink.Close())
	}
	if s.embedded != nil {
		if err := s.conf.rememberAnswers(b.Spec, out.lines, f.now()); err != nil {
			f.say("warning: later runs will not know these answers: %v", err)
		}
	}
	if counts, err := s.store.Counts(ctx, rep.Run.ID); err == nil {
		o.Tell.once = counts.Open() == 0
	}
	planned, _ := s.expect(ctx, b, rep, f.now())
	f.say("%s", runOpening(rep, b, reuse, planned, f.now()))
	if n := paidTwice(b, rep, reuse); n > 0 {
		f.say("%s: nightshift plan names them", repeatWords(n))
	}
	if warning := s.conf.capWarning(rep.Run, planned, s.conf.Worker.Concurrency, f.now()); warning != "" {
		f.say("%s", warning)
	}
	err = s.work(ctx, f, rep.Run, sink)
	err = o.ended(ctx, f, s, rep.Run, sink, err, out.out, func(ctx context.Context) error { return out.write(ctx, f.streams, b.Prepared) })
	tell.close(ctx, s, f, rep.Run, o.Tell.once)
	return o.Tell.after(ctx, f, s.backend, rep.Run, err)
}

// ended says what came of a run that was worked at until err; write makes of what is
// in the sink's file what was asked for.
func (o *runOptions) ended(ctx context.Context, f *factory, s *session, run jobs.Run, sink *jobs.FileSink, err error, out string,
	write func(context.Context) error) error {
	counts, countErr := s.store.Counts(context.WithoutCancel(ctx), run.ID)
	if tidyErr := sink.Tidy(); tidyErr != nil {
		f.say("warning: rows that were tried again have their former lines in the file too (the last one counts): %v", tidyErr)
	}
	about := s.endReport(ctx, run, f.now())
	closeErr := sink.Close()
	if closeErr == nil {
		closeErr = write(context.WithoutCancel(ctx))
	}
	if err := firstError(closeErr, err, countErr); err != nil {
		return s.stopClosing(f, err, counts, out)
	}
	if err := s.missedError(context.WithoutCancel(ctx), run); err != nil {
		f.say("%s; results in %s", countsLine(counts), out)
		return err
	}
	return f.runClosing(ctx, counts, out, about)
}

// reusable is what other runs have answered: of this Redis, or where that ends with
// its process, of the results files that it wrote.
func (o *runOptions) reusable(ctx context.Context, s *session, b *batch) (*jobs.Lookup, error) {
	if s.embedded == nil {
		return o.toReuse(ctx, s.backend, b.Prepared)
	}
	return o.toReuse(ctx, s.backend, b.Prepared, s.conf.answerFiles(b.Spec)...)
}

// into writes answers that were taken over to the results file.
func into(sink jobs.Sink) func(context.Context, []jobs.Result) error {
	return func(ctx context.Context, rs []jobs.Result) error { return putAll(ctx, sink, rs) }
}

// accept refuses a results file that would end with answers to different
// questions, unless --update says that this is meant. A file that has all that
// the input asks for stays as it is.
func (o *runOptions) accept(ctx context.Context, sink *jobs.FileSink, b *batch, inputs []string) error {
	d, err := sink.Compare(ctx, b.Prepared)
	if b.Mended {
		d.Others = 0 // it has but a part of the rows
	}
	if err != nil || o.Update || d.Missing == 0 || d.Changed+d.Others == 0 {
		return err
	}
	var has, update []string
	if d.Changed > 0 {
		has = append(has, plural(int(d.Changed), "row")+" made with another template, other settings or other fields")
		update = append(update, "makes those again")
	}
	if d.Others > 0 {
		has = append(has, plural(int(d.Others), "row")+" that "+b.Name+" does not have")
		update = append(update, "leaves those in it")
	}
	return invalid(fmt.Errorf("%s holds %s; nothing was called. --update %s, -o NEW keeps both",
		outOf(o.outFile(inputs)).lines, strings.Join(has, " and "), strings.Join(update, " and ")))
}

// outFile is where the results go when -o does not say.
func (o *runOptions) outFile(inputs []string) string {
	if o.Out != "" {
		return o.Out
	}
	return resultsName(inputs)
}

func runOpening(rep jobs.EnqueueReport, b *batch, reuse *jobs.Lookup, planned *jobs.Planned, now time.Time) string {
	line := fmt.Sprintf("%s rows", humanize.Comma(b.Rows))
	if rep.Taken > 0 {
		line += fmt.Sprintf(", %s already in the results file", humanize.Comma(rep.Taken))
	}
	if rep.Reused > 0 {
		_, words := placesOf(reuse)
		line += fmt.Sprintf(", %s answered already (from %s)", humanize.Comma(rep.Reused), words)
	}
	if n := rep.OtherFields; n > 0 {
		line += fmt.Sprintf(" (%s with other columns: their results carry the new values)", humanize.Comma(n))
	}
	left := b.Rows - rep.Taken - rep.Reused
	line += "; " + b.quota.forecast(left, b.tokens/max(b.Rows, 1)*left, now).sentence(now)
	if planned != nil && planned.Cost != nil {
		line += "; " + costLine(*planned.Cost, planned.Source)
	}
	return line
}

// session is one process that holds everything a run needs.
type session struct {
	*backend
	embedded *embedded // nil with a shared Redis
	keep     context.CancelFunc
	kept     chan struct{}
	sampleOf jobs.Priority // what the rows of its sample have, were they enqueued; "" without one
}

// openSession starts the embedded Redis or reaches the configured one.
func (f *factory) openSession(ctx context.Context) (*session, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	s := &session{}
	if c.Redis == "embedded" {
		if s.embedded, err = startEmbedded(c.stateDir()); err != nil {
			return nil, err
		}
		s.backend = f.backend(c, redis.NewClient(s.embedded.options()))
	} else if s.backend, err = f.connect(ctx, c); err != nil {
		return nil, err
	}
	if err := s.configure(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, s.startKeeping(ctx)
}

// startKeeping restores the day's counters and goes on saving them.
func (s *session) startKeeping(ctx context.Context) error {
	if s.embedded == nil {
		return nil
	}
	err := firstError(s.embedded.restoreCounters(ctx, s.lim), s.embedded.restoreMoney(ctx, s.rdb, s.conf.scope()))
	if err != nil {
		s.close()
		return err
	}
	ctx, s.keep = context.WithCancel(context.WithoutCancel(ctx))
	s.kept = make(chan struct{})
	go func() { defer close(s.kept); s.embedded.keepCounters(ctx, s.lim) }()
	return nil
}

// close ends in this order: the last counters are read while Redis is there.
func (s *session) close() {
	if s.keep != nil {
		s.keep()
		<-s.kept
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if err := s.embedded.saveMoney(ctx, s.rdb, s.conf.scope(), time.Now().In(s.conf.spendZone())); err != nil {
			s.log.Warn("who spent what is not kept for the next run", "err", err)
		}
		cancel()
	}
	s.backend.close()
	if s.embedded != nil {
		s.embedded.close()
	}
}

// work serves the queues until the run has ended, the sink fails or the user
// interrupts; calls in flight end and are kept in each case.
func (s *session) work(ctx context.Context, f *factory, run jobs.Run, sink jobs.Sink) error {
	only := jobs.Run{}
	if run.Spec.Sample {
		only = run
	}
	e, err := s.newEngine(ctx, sink, nil, only)
	if err != nil {
		return err
	}
	defer e.close(s.log)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked := make(chan error, 1)
	go func() { worked <- e.worker.Run(ctx) }()
	sweeper := &scheduler.Sweeper{Redis: s.rdb, Store: s.store, Owner: e.worker.Info().ID, Logger: s.log}
	go sweeper.Run(ctx)
	go s.runWatch().Run(ctx)

	stopped, err := s.watchRun(ctx, f, run, e, worked)
	if calls := e.worker.Stats().InFlight; ctx.Err() != nil && calls > 0 {
		f.say("stopping: %s in flight end and are kept; once more to stop at once", plural(calls, "call"))
	}
	cancel()
	if !stopped {
		err = firstError(<-worked, err)
	}
	return err
}
