package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// planStand says how the rows stand to what was done before; each is in one of its
// numbers.
type planStand struct {
	New    int64        `json:"new"`
	Same   int64        `json:"unchanged"` // answered already: they cost nothing
	From   []reusedFrom `json:"unchanged_from,omitempty"`
	Unseen int64        `json:"unseen"`           // answered, in files of another host
	Open   int64        `json:"open"`             // the earlier run asks the same, and has no good answer; of the run that they come to: and they have not ended
	Failed int64        `json:"failed,omitempty"` // the run that they come to asked the same and has no good answer: only retry asks again
	Stale  int64        `json:"stale"`            // the earlier run asked something else for that row
	Why    string       `json:"stale_why,omitempty"`
	Than   string       `json:"earlier_run,omitempty"`
	File   string       `json:"results_file,omitempty"`         // of run, which the rows were compared with instead
	Twice  int64        `json:"-"`                              // of the rows that are asked: they ask the same as another one
	Again  int64        `json:"answered_asked_again,omitempty"` // of the others: answered, and --force or reuse: off asks all the same

	places string
	forced string // "--force", "reuse: off"; "" where answers are taken over
}

// asked is how many rows an enqueue would call for.
func (s planStand) asked() int64 { return s.New + s.Unseen + s.Open + s.Stale }

// stand compares a batch with earlier runs and results files; be is nil where no
// Redis is to be reached, joined the run that the rows would come to, file the results
// that run would go on with, "" for none.
func (o *specOptions) stand(ctx context.Context, c *loaded, be *backend, b *batch, joined, file string) (out planStand, err error) {
	found, err := answered(ctx, c, be, b, file)
	if err != nil {
		return out, err
	}
	taken, forced := found, o.forcedBy(c)
	if forced != "" {
		taken = nil
	}
	st := jobs.Stand{New: b.Rows}
	switch {
	case file != "":
		st, err = jobs.StandInFile(ctx, file, b.Prepared, taken)
	case be != nil:
		st, err = be.store.Stand(ctx, b.Prepared, taken)
	case taken != nil:
		st.Same = taken.Same
		st.New -= taken.Same
	}
	out = planStand{File: file, forced: forced, New: st.New, Same: st.Same, Unseen: st.Unseen, Open: st.Open + st.Failed, Stale: st.Stale}
	if st.Earlier.ID != "" && st.Earlier.ID == joined {
		out.Open, out.Failed = st.Open, st.Failed
	}
	out.Twice = min(b.Repeats(taken), out.asked())
	from, places := placesOf(found)
	out.places = orElse(places, file)
	if taken != nil {
		out.From = from
	} else if found != nil {
		out.Again = found.Same
		if file != "" { // what it has is not asked again, forced or not
			out.Again = max(0, found.Same-st.Same)
		}
	}
	if st.Earlier.ID != "" {
		out.Than = st.Earlier.Title()
	}
	out.Why = staleWords(st.Why)
	return out, err
}

// staleWords is why rows are stale; with how many it holds for where there are several
// reasons.
func staleWords(list []jobs.StaleWhy) string {
	if len(list) == 1 {
		return list[0].What
	}
	var parts []string
	for _, w := range list {
		parts = append(parts, humanize.Comma(w.Rows)+": "+w.What)
	}
	return strings.Join(parts, "; ")
}

// forcedBy says what keeps answers from being taken over; "" where they are.
func (o *specOptions) forcedBy(c *loaded) string {
	_, on := c.reuse()
	switch {
	case o.Force:
		return "--force"
	case !on:
		return "reuse: off"
	}
	return ""
}

// rows adds what there is to say to the plan's table.
func (s planStand) rows(t *dataTable) {
	say := func(n int64, words string) {
		if n > 0 {
			t.row("", humanize.Comma(n)+" "+words)
		}
	}
	if s.Same+s.Unseen+s.Open+s.Failed+s.Stale+s.Again == 0 {
		return // all are new: nothing to tell apart
	}
	say(s.New, "new")
	say(s.Same, "unchanged: answered already, cost nothing (from "+s.places+")")
	say(s.Stale, s.otherwiseWords())
	say(s.Open, s.openWords())
	say(s.Failed, fmt.Sprintf("ended in run %s without a good answer: enqueue leaves them, nightshift retry %s asks again", s.Than, shellWord(s.Than)))
	say(s.Again, fmt.Sprintf("of these are answered already (from %s); %s asks and pays for them again", s.places, s.forced))
	say(s.Unseen, "unchanged, but answered in files of another host; enqueue refuses without --redo-unseen")
}

// noneAsked is rows where nothing would be called for.
func (s planStand) noneAsked(t *dataTable) {
	if s.Failed == 0 {
		t.row("", "all are answered already (from "+s.places+"): enqueueing them costs nothing")
		return
	}
	s.rows(t)
	t.row("", "enqueueing them calls for none and costs nothing")
}

// otherwiseWords says of stale rows what asked something else for them.
func (s planStand) otherwiseWords() string {
	if s.File != "" {
		return fmt.Sprintf("stale: %s has answers that were made otherwise (%s); nightshift run --update makes those again", s.File, s.Why)
	}
	return fmt.Sprintf("stale: run %s asked otherwise (%s)", s.Than, s.Why)
}

// openWords says why rows that an earlier run has are asked.
func (s planStand) openWords() string {
	if s.File != "" {
		return "without a good answer in " + s.File + ": nightshift run asks them again"
	}
	if s.forced != "" {
		return fmt.Sprintf("as run %s asks them", s.Than)
	}
	return fmt.Sprintf("as run %s asks them, without a good answer so far (under that name: nightshift wait %s, or retry for those that failed)", s.Than, shellWord(s.Than))
}

// refusedWords is what enqueue will say of the rows; "" where it takes them.
func refusedWords(refusal error) string {
	if refusal == nil {
		return ""
	}
	return refusal.Error()
}

func refusedRow(t *dataTable, words string) {
	if words != "" {
		t.row("but", "enqueue will refuse this: "+words)
	}
}
