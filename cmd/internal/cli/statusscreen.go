package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// all is the operator's one screen: health now, who uses what, what is held
// back, the runs, money, what happened last, and what to do.
func (o *statusOptions) all(ctx context.Context, be *backend) error {
	v, err := be.overview(ctx, o.now())
	if err != nil {
		return err
	}
	if o.opts.output == "json" {
		return o.print(nil, v)
	}
	if o.opts.output == "plain" {
		return o.print(v.runTable(), v)
	}
	fmt.Fprintf(o.Out, "project %s at %s\n", v.Project, v.At.Local().Format("2006-01-02 15:04:05 MST"))
	v.printState(o.Out)
	v.printDegraded(o.Out)
	section(o.Out, "who used the quota in the last five minutes", v.userTable())
	section(o.Out, "runs", v.runTable())
	if len(v.Runs) == 0 {
		o.say("no runs yet; `nightshift enqueue` makes one")
	}
	if s := otherRunsLine(v.Others); s != "" {
		fmt.Fprintln(o.Out, s)
	}
	printFleet(o.Out, v.Fleet)
	v.printSpend(o.Out)
	section(o.Out, "what happened", eventTable(v.Events, v.At))
	printAdvice(o.Out, v.Advice)
	return nil
}

// section prints a table under its name, or nothing.
func section(w io.Writer, name string, t *dataTable) {
	if len(t.rows) > 0 {
		fmt.Fprintf(w, "\n%s\n", name)
		t.render(w)
	}
}

// printState is what holds for everybody: health, pauses, shares.
func (v *overview) printState(w io.Writer) {
	fmt.Fprintf(w, "health: %s\n", healthSentence(v.Health, v.At))
	for _, r := range v.Ramps {
		fmt.Fprintln(w, r.sentence(v.Health.Leader != nil))
	}
	for _, p := range together(v.Pauses, func(p *limiter.Pause) *string { return &p.Class }) {
		fmt.Fprintf(w, "paused: %s\n", pauseSentence(&p, v.At))
	}
	for _, t := range together(v.Throttles, func(t *limiter.Throttle) *string { return &t.Class }) {
		fmt.Fprintf(w, "held back: %s\n", throttleSentence(t, v.At))
	}
	for _, l := range v.Lanes {
		if f := worker.ProviderFails(v.Fleet, l.Lane.String()); f != nil {
			fmt.Fprintf(w, "failing: %s: %s\n", l.Lane.Model, failingSentence(f, v.At))
		}
		if l.Cooldown != nil {
			fmt.Fprintf(w, "resting: %s until %s (%s)\n", l.Lane.Model, clock(l.Cooldown.Until, v.At), strings.TrimSpace(string(l.Cooldown.Reason)+" "+l.Cooldown.Detail))
		}
	}
}

// together makes one of what differs in its class alone: class is where that
// stands. What has no class stays as it is.
func together[T comparable](all []T, class func(*T) *string) []T {
	var out []T
	for _, x := range all {
		at := slices.IndexFunc(out, func(o T) bool {
			if *class(&o) == "" || *class(&x) == "" {
				return false
			}
			*class(&o) = *class(&x)
			return o == x
		})
		if at < 0 {
			out = append(out, x)
			continue
		}
		*class(&out[at]) += ", " + *class(&x)
	}
	return out
}

func throttleSentence(t limiter.Throttle, now time.Time) string {
	s := fmt.Sprintf("class %s has %s of each minute's limit", t.Class, percent(float64(t.SharePPM(now))/ppm))
	if t.RampTo.After(now) {
		s += fmt.Sprintf(", %s at %s", percent(float64(t.ToPPM)/ppm), clock(t.RampTo, now))
	}
	if t.Reason == scheduler.ReasonOperator && !t.Until.IsZero() {
		s += ", until " + clock(t.Until, now)
	}
	return fmt.Sprintf("%s, by %s since %s (%s)", s, t.Owner, clock(t.Since, now), orElse(t.Detail, t.Reason))
}

func (v *overview) userTable() *dataTable {
	t := newTable("FEATURE", "CLASS", "RPM", "SHARE", "IN TOKENS/MIN", "SHARE", "429S", "REFUSED", "OWN LIMIT", "P95").numeric(2, 3, 4, 5, 6, 7, 8, 9)
	for _, u := range v.Users {
		t.row(u.Feature, u.Class, humanize.CommafWithDigits(u.AvgRPM, 1), percent(u.RequestsShare), humanize.Comma(int64(u.AvgTPM)),
			percent(u.TokensShare), humanize.Comma(u.Provider429), humanize.Comma(u.Refused), humanize.Comma(u.OwnLimit), seconds(time.Duration(u.P95MS)*time.Millisecond))
	}
	return t
}

func (v *overview) runTable() *dataTable {
	t := newTable("RUN", "CREATED", "MODEL", "ROWS", "GOOD", "BAD", "RUNNING", "WAITING", "QUEUED", "STATE", "DONE BY").numeric(3, 4, 5, 6, 7, 8)
	for _, s := range v.Runs {
		c := s.counts
		eta := ""
		switch {
		case s.ETA != nil:
			eta = "about " + cellClock(*s.ETA, v.At)
		case s.Kept != nil:
			eta = "kept to " + shortDay(*s.Kept, v.At)
		}
		t.row(orElse(s.Name, s.ID), cellClock(s.Created, v.At), s.Model, humanize.Comma(s.Rows),
			humanize.Comma(c[jobs.Done]+c[jobs.Cached]), humanize.Comma(c.Bad()-c[jobs.Cancelled]), humanize.Comma(c[jobs.Running]),
			humanize.Comma(c[jobs.Waiting]+c[jobs.RetryWait]), humanize.Comma(c[jobs.Queued]), s.brief(), eta)
	}
	return t
}

func (v *overview) printSpend(w io.Writer) {
	var parts []string
	for _, s := range v.Spent {
		if s.Calls > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s calls)", usd(s.MicroUSD), s.What, humanize.Comma(s.Calls)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "\nspent: %s\n", strings.Join(parts, ", "))
	}
}

func printAdvice(w io.Writer, list []advice) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nwhat to do")
	for _, a := range list {
		fmt.Fprintf(w, "- %s", a.Text)
		if a.Command != "" {
			fmt.Fprintf(w, ": %s", a.Command)
		}
		fmt.Fprintln(w)
	}
}
