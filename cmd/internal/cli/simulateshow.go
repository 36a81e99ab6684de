package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/scheduler/sim"
)

// table has a row for each policy.
func (r simulation) table() *dataTable {
	t := newTable("POLICY", "FAILED", "OF CALLS", "P50", "P95", "BULK DONE", "FINISHED", "ROWS/MIN", "LIMIT USED", "429S", "WASTED", "CAME BACK").
		numeric(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	for _, o := range r.Outcomes {
		t.row(o.Policy, failedText(o.People), humanize.Comma(o.People.Calls), tookText(o.People.P50), tookText(o.People.P95),
			doneText(o.Bulk), finishText(o.Bulk), perMinuteText(o.Bulk), fmt.Sprintf("%.0f %%", 100*o.Used),
			humanize.Comma(o.Provider429), humanize.Comma(o.Wasted), fmt.Sprintf("%.2f", o.Bulk.Reschedules))
	}
	return t
}

func failedText(p sim.People) string {
	if p.Calls == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%.2f %%)", humanize.Comma(p.Failed), 100*p.FailedShare())
}

func tookText(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func doneText(b sim.Rows) string {
	switch {
	case b.Rows == 0:
		return "-"
	case b.Failed > 0:
		return fmt.Sprintf("%s, %s failed", humanize.Comma(b.Done), humanize.Comma(b.Failed))
	}
	return fmt.Sprintf("%s of %s", humanize.Comma(b.Done), humanize.Comma(b.Rows))
}

func finishText(b sim.Rows) string {
	switch {
	case b.Rows == 0:
		return "-"
	case b.Finish == 0:
		return "no"
	}
	return b.Finish.Round(time.Second).String()
}

func perMinuteText(b sim.Rows) string {
	if b.Rows == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", b.PerMinute)
}

// What the table's words mean.
const (
	failedWords   = "FAILED: people's first tries, before any retry. P50, P95: from the first try to the answer, retries included."
	cameBackWords = "LIMIT USED: while there were rows, of the limit that binds. CAME BACK: how often a row was put back, on average."
)

// tell says what the table's words mean, and what follows.
func (r simulation) tell(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n%s\nSeed %d: the same scenario gives the same result.\n", failedWords, cameBackWords, r.Seed)
	for i, line := range r.Advice {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, "- "+line)
	}
}
