package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// TestReuseOfSampleAndPlan: sample takes over what is answered unless --force or
// reuse: off says otherwise, and plan says how many answered rows are asked again.
func TestReuseOfSampleAndPlan(t *testing.T) {
	t.Parallel()
	s, _ := newReused(t)
	se := &session{backend: s.be}
	for _, c := range []struct {
		args     []string
		reuse    string
		known    bool
		name     string
		goesOn   string
		planSays string
	}{
		{nil, "", true, "", "the same command goes on", "1 unchanged: answered already, cost nothing (from first)"},
		{[]string{"--force"}, "", false, "sample-20261130-220000", "the same command without --force goes on", "1 of these are answered already (from first); --force asks and pays for them again"},
		{nil, "off", false, "", "the same command goes on", "1 of these are answered already (from first); reuse: off asks and pays for them again"},
	} {
		s.be.conf.Reuse = c.reuse
		o, cmd := &sampleOptions{N: 2, Seed: 1}, &cobra.Command{}
		o.addFlags(cmd)
		s.check(cmd.ParseFlags(append(c.args, "--prompt", "say {{.w}}")))
		b, err := o.prepare(t.Context(), s.f, cmd, []string{filepath.Join(filepath.Dir(s.be.conf.File), "rows.csv")})
		s.check(err)
		p, err := o.pick(t.Context(), b, time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC))
		s.check(err)
		known, err := o.known(t.Context(), se, p)
		s.check(err)
		if (known != nil) != c.known || known != nil && known.Same != 1 || p.Spec.Name != c.name {
			t.Errorf("%v, reuse %q: known %+v, name %q", c.args, c.reuse, known, p.Spec.Name)
		}
		if got := o.interruptedWords(se); !strings.HasSuffix(got, c.goesOn) {
			t.Errorf("%v, reuse %q: %s", c.args, c.reuse, got)
		}
		st, err := o.stand(t.Context(), s.be.conf, s.be, b, "", "")
		s.check(err)
		table := newTable("", "")
		st.rows(table)
		show := s.f.print //nolint:forbidigo // our own table
		if got := s.said(func(context.Context) error { return show(table, st) }); !strings.Contains(got, c.planSays) {
			t.Errorf("%v, reuse %q: plan says\n%s", c.args, c.reuse, got)
		}
		s.check(b.Close())
	}
}

// TestSampleSpent: what a sample cost is what its run's calls cost while it went on,
// also those of rows that have no answer yet; what was spent before is not in it.
func TestSampleSpent(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	spend := func(feature string, run string, micro int64) {
		day := time.Now().In(s.be.conf.spendZone()).Format(time.DateOnly)
		s.check(gemini.RestoreMoney(t.Context(), s.be.rdb, s.be.conf.scope(), []gemini.MoneySample{{Day: day, Model: "m", Class: "bulk", Feature: feature, Run: run, MicroUSD: micro, Calls: 1}}))
	}
	spend("before", s.run.ID, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := (&session{backend: s.be}).priced(ctx, s.f, s.run, func() error {
		spend("answered", s.run.ID, 70)
		spend("on its way", s.run.ID, 7)
		spend("answered", "another", 5)
		cancel()
		return nil
	})
	if err != nil || got != 77 {
		t.Errorf("spent %d (%v), want 77", got, err)
	}
	r := (&sampleOptions{}).report(tried{run: s.run, spent: got, made: []jobs.Result{{Row: "r0", Status: "done"}}})
	if r.Spent != 77 || r.Failed != 0 {
		t.Errorf("the report is %+v", r)
	}
}

// TestSampleHeld: a sample ends with the reason where it would keep somebody waiting,
// and waits for what ends soon; another run is not touched.
func TestSampleHeld(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	now := time.Now()
	counts, err := s.be.store.Counts(t.Context(), s.run.ID)
	s.check(err)
	held := func(x *sampleHold, st worker.Stats, after time.Duration) string {
		err := (&session{backend: s.be}).heldSample(t.Context(), x, s.run, counts, worker.WorkerInfo{}, st, now.Add(after))
		var coded *codedError
		if errors.As(err, &coded) && coded.code == exitStopped {
			return err.Error()
		}
		s.check(err)
		return ""
	}
	s.run.Spec.Sample = true
	if got := held(&sampleHold{}, worker.Stats{}, 0); got != "" {
		t.Errorf("nothing holds it: %s", got)
	}
	until := now.Add(time.Hour)
	s.check(s.be.lim.Pause(t.Context(), limiter.Pause{Class: "bulk", Reason: "operator", Owner: "ada", Detail: "deploy", Until: until}))
	s.run.Spec.Class = "bulk"
	if got := held(&sampleHold{}, worker.Stats{}, 0); !strings.Contains(got, "ada") || !strings.Contains(got, clock(until, now)) || !strings.Contains(got, "the same command goes on") {
		t.Errorf("paused: %q", got)
	}
	if got := held(&sampleHold{}, worker.Stats{InFlight: 1}, 0); got != "" {
		t.Errorf("a call is out: %s", got)
	}
	s.run.Spec.Sample = false
	if got := held(&sampleHold{}, worker.Stats{}, 0); got != "" {
		t.Errorf("another run: %s", got)
	}
	s.run.Spec.Sample, s.run.Spec.Class = true, "other"
	st := worker.Stats{Lanes: []worker.LaneStats{{Waiting: "waiting for quota (rpd)", Until: now.Add(9 * time.Hour)}}}
	x := &sampleHold{}
	if got := held(x, st, 0) + held(x, st, 30*time.Second); got != "" {
		t.Errorf("too soon: %s", got)
	}
	if got := held(x, st, time.Minute); !strings.Contains(got, "waiting for quota (rpd) until "+clock(now.Add(9*time.Hour), now)) {
		t.Errorf("a wait for the day: %q", got)
	}
	for want, h := range map[string]hold{
		"":      {},
		"far":   {why: "far", until: now.Add(time.Hour)},
		"never": {why: "never"},
	} {
		if got := longHold(h, now); got != want {
			t.Errorf("%+v: %q", h, got)
		}
	}
	for _, h := range []hold{{why: "soon", until: now.Add(time.Minute)}, {why: "calls fail", failing: true}} {
		if got := longHold(h, now); got != "" {
			t.Errorf("%+v: %q", h, got)
		}
	}
}

// TestUnprojected: a sample that tells nothing of all rows says why.
func TestUnprojected(t *testing.T) {
	t.Parallel()
	cached, failed := jobs.Result{Row: "a", Status: "cached"}, jobs.Result{Row: "b", Status: "failed"}
	for want, rows := range map[string][]jobs.Result{
		"no projection: these were answered before": {cached, cached},
		"no projection: no call came back":          {cached, failed},
	} {
		table := sampleTable(sampleOutcome{Rows: rows}, &batch{}, "", time.Now())
		if got := fmt.Sprint(table.after.rows); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestGeminiFlagIsNamed: what --gemini says wrongly is said of --gemini.
func TestGeminiFlagIsNamed(t *testing.T) {
	t.Parallel()
	f := &factory{streams: &streams{}}
	f.opts.gemini, f.opts.config = "nonsense", filepath.Join(t.TempDir(), "none.yaml")
	if err := os.WriteFile(f.opts.config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.config(); err == nil || !strings.HasPrefix(err.Error(), `--gemini: gemini.api: "nonsense"`) {
		t.Error(err)
	}
}
