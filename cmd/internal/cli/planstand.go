package cli

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// planStand says how the rows stand to what was done before; each is in one of its
// numbers.
type planStand struct {
	New    int64        `json:"new"`
	Same   int64        `json:"unchanged"` // answered already: they cost nothing
	From   []reusedFrom `json:"unchanged_from,omitempty"`
	Unseen int64        `json:"unseen"` // answered, in files of another host
	Open   int64        `json:"open"`   // the earlier run asks the same, and has no good answer
	Stale  int64        `json:"stale"`  // the earlier run asked something else for that row
	Why    string       `json:"stale_why,omitempty"`
	Than   string       `json:"earlier_run,omitempty"`

	places string
	forced bool
}

// asked is how many rows an enqueue would call for.
func (s planStand) asked() int64 { return s.New + s.Unseen + s.Open + s.Stale }

// stand compares a batch with earlier runs and results files; be is nil where no
// Redis is to be reached.
func (o *specOptions) stand(ctx context.Context, c *loaded, be *backend, b *batch) (out planStand, err error) {
	keep, on := c.reuse()
	var l *jobs.Lookup
	switch {
	case o.Force || !on:
	case be == nil && c.Redis == "embedded":
		l, err = jobs.LookUpFiles(ctx, b.Prepared, jobs.LookUpOptions{Keep: keep, Files: c.answerFiles(b.Spec)})
	case be != nil:
		l, err = o.lookUp(ctx, be, b.Prepared)
	}
	if err != nil {
		return out, err
	}
	st := jobs.Stand{New: b.Rows}
	if be != nil {
		st, err = be.store.Stand(ctx, b.Prepared, l)
	} else if l != nil {
		st.Same = l.Same
		st.New -= l.Same
	}
	out = planStand{forced: o.Force, New: st.New, Same: st.Same, Unseen: st.Unseen, Open: st.Open, Stale: st.Stale}
	out.From, out.places = placesOf(l)
	if st.Earlier.ID != "" {
		out.Than = st.Earlier.Title()
	}
	if len(st.Why) > 0 {
		out.Why = st.Why[0].What
	}
	return out, err
}

// rows adds what there is to say to the plan's table.
func (s planStand) rows(t *dataTable) {
	say := func(n int64, words string) {
		if n > 0 {
			t.row("", humanize.Comma(n)+" "+words)
		}
	}
	if s.Same+s.Unseen+s.Open+s.Stale == 0 {
		return // all are new: nothing to tell apart
	}
	say(s.New, "new")
	say(s.Same, "unchanged: answered already, cost nothing (from "+s.places+")")
	say(s.Stale, fmt.Sprintf("stale: run %s asked otherwise (%s)", s.Than, s.Why))
	say(s.Open, s.openWords())
	say(s.Unseen, "unchanged, but answered in files of another host; enqueue refuses without --redo-unseen")
}

// openWords says why rows that an earlier run has are asked: --force does not look
// which of them are answered.
func (s planStand) openWords() string {
	if s.forced {
		return fmt.Sprintf("as run %s asks them; --force asks again, answered or not", s.Than)
	}
	return fmt.Sprintf("as run %s asks them, without a good answer so far", s.Than)
}
