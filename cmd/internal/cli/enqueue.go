package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/worker"
)

type enqueueOptions struct {
	specOptions
	Update bool
	Tell   tellFlags
}

func newEnqueueCmd(f *factory) *cobra.Command {
	o := &enqueueOptions{}
	cmd := &cobra.Command{
		Use:   "enqueue INPUT... -t TEMPLATE",
		Short: "Put rows on the fleet's queues",
		Long: "Reads and checks the INPUT files, and puts their rows on the queues:\n" +
			inputKinds + "\n" +
			"Enqueueing the same run again adds only what is missing.",
	}
	own := func() {
		cmd.Flags().BoolVar(&o.Update, "update", false, "let the named run change: redo only what changed")
		o.Tell.addNotifyFlags(cmd.Flags())
		f.addOutputFlag(cmd)
	}
	return inputCommand(cmd, &o.specOptions, own, func(ctx context.Context, inputs []string) error { return runEnqueue(ctx, f, o, cmd, inputs) })
}

func runEnqueue(ctx context.Context, f *factory, o *enqueueOptions, cmd *cobra.Command, inputs []string) error {
	if err := o.Tell.check(); err != nil {
		return err
	}
	if _, err := f.config(); err != nil {
		return invalid(err)
	}
	be, err := f.openFleet(ctx, "enqueue")
	if err != nil {
		return err
	}
	defer be.close()
	return o.enqueue(ctx, f, be, cmd, inputs)
}

// enqueue is the command on a fleet that was reached.
func (o *enqueueOptions) enqueue(ctx context.Context, f *factory, be *backend, cmd *cobra.Command, inputs []string) error {
	b, err := o.prepare(ctx, f, cmd, inputs)
	if err != nil {
		return err
	}
	defer b.close()
	if err := be.configure(ctx); err != nil {
		return err
	}
	warning, err := be.fits(ctx, b.Prepared)
	if err != nil {
		return err
	}
	for _, w := range []string{warning, be.redisMemory(ctx).evicts()} {
		if w != "" {
			f.say("warning: %s", w)
		}
	}
	bar := f.newBar("enqueueing", b.Rows)
	rep, reuse, err := o.put(ctx, be, b, bar.set)
	bar.stop()
	if err != nil {
		return enqueueError(err)
	}
	if err := o.Tell.notify(ctx, be, rep.Run); err != nil {
		return fmt.Errorf("the rows are enqueued, and nobody will be told of their end: %w", err)
	}
	return f.printEnqueued(ctx, be, b, rep, reuse)
}

// put enqueues a batch: rows that have a good answer of another run take it over.
func (o *enqueueOptions) put(ctx context.Context, be *backend, b *batch, progress func(done, total int64)) (jobs.EnqueueReport, *jobs.Lookup, error) {
	reuse, err := o.toReuse(ctx, be, b.Prepared)
	if err != nil {
		return jobs.EnqueueReport{}, nil, err
	}
	begun := time.Now()
	rep, err := be.store.Enqueue(ctx, b.Prepared, jobs.EnqueueOptions{Update: o.Update, Progress: progress, Claimed: be.steered, Reuse: reuse})
	if err == nil {
		be.traceEnqueued(rep, begun)
		be.countReused(b, rep)
	}
	return rep, reuse, err
}

// enqueueError gives the refusals of an enqueue their exit code.
func enqueueError(err error) error {
	var changed *jobs.ChangedError
	if errors.As(err, &changed) {
		return invalid(fmt.Errorf("%w. Nothing was enqueued", err))
	}
	return err
}

// enqueued is what enqueue prints: what a person wants to know before going home.
type enqueued struct {
	Run     string       `json:"run"`
	Name    string       `json:"name,omitempty"`
	New     int64        `json:"new"`
	Known   int64        `json:"known"`
	Changed int64        `json:"changed"`
	Removed int64        `json:"removed"`
	Stayed  int64        `json:"kept_bad,omitempty"`             // bad in this input, and good in the run
	Other   int64        `json:"other_columns,omitempty"`        // of known: their results carry the new values
	Unseen  int64        `json:"other_columns_unseen,omitempty"` // their results are in files of another host
	Cached  int64        `json:"cached"`                         // of new and changed: took a good answer over
	From    []reusedFrom `json:"cached_from,omitempty"`
	Bad     int64        `json:"bad"`
	Repeats int64        `json:"duplicates,omitempty"` // new rows that ask the same as another one: each is paid
	Queue   string       `json:"queue"`
	Workers int          `json:"workers"`
	Slots   int          `json:"slots"`
	Ahead   int64        `json:"rows_ahead"`
	Done    string       `json:"done_by,omitempty"`
	Limit   string       `json:"limit,omitempty"`

	Planned *jobs.Planned `json:"planned,omitempty"`
}

func (f *factory) printEnqueued(ctx context.Context, be *backend, b *batch, rep jobs.EnqueueReport, reuse *jobs.Lookup) error {
	fleet, err := worker.Fleet(ctx, be.rdb)
	if err != nil {
		return err
	}
	fleet = be.living(fleet)
	ahead, err := be.openRows(ctx, b.Spec.Lane, rep.Run.ID)
	if err != nil {
		return err
	}
	counts, err := be.store.Counts(ctx, rep.Run.ID)
	if err != nil {
		return err
	}
	if err := b.quota.usedToday(ctx, be.lim); err != nil {
		return err
	}
	now := f.now()
	b.Spec.Steer = rep.Run.Spec.Steer // with what the run had before
	planned, plan := be.expect(ctx, b, rep, now)
	fc, err := be.endOf(ctx, b, rep.Run.ID, counts.Open(), ahead, plan, now)
	if err != nil {
		return err
	}
	workers, slots := worker.Serving(fleet, b.Spec.Lane)
	r := enqueued{
		Run: rep.Run.ID, Name: rep.Run.Spec.Name, New: rep.New, Known: rep.Known, Changed: rep.Changed, Removed: rep.Removed,
		Stayed: rep.Stayed, Other: rep.OtherFields, Unseen: rep.OtherFieldsUnseen, Cached: rep.Reused, Bad: b.LeftOut, Repeats: paidTwice(b, rep, reuse),
		Queue: rep.Queue, Workers: workers, Slots: slots, Ahead: ahead,
		Done: now.Add(fc.took).Format("2006-01-02T15:04:05Z07:00"), Limit: fc.limit, Planned: planned,
	}
	t := newTable("RUN", rep.Run.Title())
	t.row("rows", fmt.Sprintf("%s new, %s known, %s", humanize.Comma(rep.New), humanize.Comma(rep.Known), badRows(b.LeftOut)))
	if rep.Changed+rep.Removed > 0 {
		t.row("", fmt.Sprintf("%s changed, %s removed", humanize.Comma(rep.Changed), humanize.Comma(rep.Removed)))
	}
	for _, line := range otherWords(rep) {
		t.row("", line)
	}
	if rep.Repaired > 0 {
		t.row("", humanize.Comma(rep.Repaired)+" of the known had lost their task and got it back")
	}
	if rep.Reused > 0 {
		words := ""
		r.From, words = placesOf(reuse)
		t.row("cached", fmt.Sprintf("%s are answered already and cost nothing (from %s); --force asks them again", humanize.Comma(rep.Reused), words))
	}
	repeatRows(t, r.Repeats, reuse != nil)
	t.row("queue", rep.Queue)
	t.row("workers", servedBy(workers, slots, fleet))
	if ahead > 0 {
		t.row("ahead", rowsOf(ahead)+" of other runs in the lane")
	}
	if planned != nil {
		t.row("expected", plannedCost(*planned)) // its end is the time's, below
		plan.dayRows(t)
	}
	name := shellWord(rep.Run.Title())
	if cancelled := counts[jobs.Cancelled]; cancelled > 0 {
		t.row("cancelled", humanize.Comma(cancelled)+" rows are cancelled: nightshift retry "+name)
	}
	if counts.Open() > 0 {
		pauses, err := be.lim.Pauses(ctx)
		if err != nil {
			return err
		}
		h, err := be.runHold(ctx, rep.Run, pauses, fleet, now)
		if err != nil {
			return err
		}
		if h.unsure {
			t.row("time", "not known")
		} else {
			t.row("time", fc.sentence(now))
		}
		if h.why != "" {
			t.row("but", h.why)
		}
		if s := be.shareOf(ctx, rep.Run.Spec.Class, now); s != "" {
			t.row("but", s)
		}
	}
	if err := be.steerRows(ctx, t, rep.Run, counts, now); err != nil {
		return err
	}
	t.row("next", fmt.Sprintf("nightshift wait %s && nightshift results %s -o results.jsonl", name, name))
	t.wrap(100, "but")
	if err := f.print(t, r); err != nil {
		return err
	}
	if warning, err := be.unwatched(ctx, rep.Run.Spec.Steer); err != nil {
		return err
	} else if warning != "" {
		f.say("%s", warning)
	}
	if s := be.conf.capWarning(rep.Run, planned, cmp.Or(slots, be.conf.Worker.Concurrency), now); s != "" {
		f.say("%s", s)
	}
	if s := be.conf.lateWarning(rep.Run, now.Add(fc.took), now); s != "" && counts.Open() > 0 {
		f.say("%s", s)
	}
	if workers == 0 && len(fleet) == 0 && counts.Open() > 0 {
		f.say("warning: no worker serves this queue; start one with `nightshift worker --redis %s`", redisURLForHint(be.conf))
	}
	return nil
}

// redisURLForHint is what a user can paste; a URL with a password is not shown.
func redisURLForHint(c *loaded) string {
	if redisHost(c.Redis) == afterScheme(c.Redis) {
		return c.Redis
	}
	return "URL"
}

func servedBy(workers, slots int, fleet []worker.WorkerInfo) string {
	switch {
	case workers > 0:
		return fmt.Sprintf("%s, %d calls at once", plural(workers, "worker"), slots)
	case len(fleet) > 0:
		return fmt.Sprintf("none yet; %s will pick the lane up within 10 s", plural(len(fleet), "worker"))
	}
	return "none"
}

// openRows counts the unfinished rows of other runs in a lane.
func (b *backend) openRows(ctx context.Context, lane, except string) (int64, error) {
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, r := range runs {
		if r.ID == except || r.Spec.Lane != lane {
			continue
		}
		c, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			return 0, err
		}
		n += c.Open()
	}
	return n, nil
}
