package cli

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"nightshift/jobs"
)

// show prints the counts, then rows side by side.
func (o *diffOptions) show(r *diffReport, run jobs.Run) error {
	t := newTable("FIELD", "LIVE COLUMN", "SAME", "CHANGED", "ADDED", "MISSING", "ACCEPTED", "REJECTED", "OPEN").numeric(2, 3, 4, 5, 6, 7, 8)
	for _, c := range r.Fields {
		t.row(c.Field, c.Column, humanize.Comma(c.Count[jobs.Same]), humanize.Comma(c.Count[jobs.Changed]), humanize.Comma(c.Count[jobs.Added]),
			humanize.Comma(c.Count[jobs.Missing]), humanize.Comma(c.Accepted), humanize.Comma(c.Rejected), humanize.Comma(c.Open))
	}
	if err := o.print(t, r); err != nil {
		return err
	}
	if o.opts.output != "json" {
		for _, x := range r.Rows {
			fmt.Fprint(o.Out, sideBySide(x))
		}
	}
	o.notes(r, run)
	return nil
}

// notes say what the counts do not, and what comes next.
func (o *diffOptions) notes(r *diffReport, run jobs.Run) {
	if r.Failed > 0 {
		o.say("no good answer, so nothing to accept: %s (nightshift errors %s)", plural(int(r.Failed), "row"), typed(run))
	}
	if r.Unfinished > 0 {
		o.say("not finished yet, so not compared: %s", plural(int(r.Unfinished), "row"))
	}
	if r.NotInRun > 0 {
		o.say("in %s but not in the run, left as it is: %s (%s, …)", r.Live, plural(int(r.NotInRun), "row"), r.example)
	}
	if r.NotInLive > 0 {
		o.say("in the run but not in %s: %s", r.Live, plural(int(r.NotInLive), "row"))
	}
	if len(r.Uncompared) > 0 {
		o.say("not compared, since the live file has no such column: %s (--map FIELD=COLUMN)", strings.Join(r.Uncompared, ", "))
	}
	var open, accepted int64
	for _, c := range r.Fields {
		open, accepted = open+c.Open, accepted+c.Accepted
	}
	switch {
	case len(o.Accept)+len(o.Reject) > 0 && r.decided == 0:
		o.say("no filter took anything that changed: nothing was decided")
	case accepted > 0:
		o.say("what is accepted: nightshift results %s --accepted --into %s -o NEW", typed(run), shellWord(o.Live))
	case open > 0 && len(r.Rows) == 0:
		o.say("side by side: add -n 20; to decide: --accept all, --reject 'change>50%%', …")
	}
}

// sideWidth is of one side: two of them and a gap fit 100 columns.
const sideWidth = 48

// mostlyOther is the percentage of change from which long texts are read better one
// below the other than by what they share.
const mostlyOther = 75

// below is a text over the whole width, with a sign before its first line.
func below(sign, s string) string {
	lines := strings.Split(text.WrapSoft(strings.ReplaceAll(s, "\t", " "), 2*sideWidth), "\n")
	return sign + strings.Join(lines, "\n  ") + "\n"
}

// sideBySide is a field of a row with what is live on the left.
func sideBySide(x jobs.Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s · %s · %s", x.Row, x.Field, x.Change)
	if x.Change == jobs.Changed {
		fmt.Fprintf(&b, " (%.0f %%)", x.Percent())
	}
	b.WriteByte('\n')
	if x.Change == jobs.NoGood {
		fmt.Fprintf(&b, "  %s\n", x.Error)
		return b.String()
	}
	if x.Percent() > mostlyOther && len(x.Live)+len(x.New) > 2*sideWidth {
		b.WriteString(below("- ", x.LiveText()) + below("+ ", x.NewText()))
		return b.String()
	}
	live, now := x.Marked()
	left, right := wrapped(live), wrapped(now)
	for i := range max(len(left), len(right)) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		b.WriteString(strings.TrimRight(text.Pad(l, sideWidth, ' ')+"  | "+r, " ") + "\n")
	}
	return b.String()
}

func wrapped(s string) []string {
	return strings.Split(text.WrapSoft(strings.ReplaceAll(s, "\t", " "), sideWidth), "\n")
}
