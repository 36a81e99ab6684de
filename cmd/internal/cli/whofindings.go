package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// printParts says what each user had of the limits: on average, and in the largest
// minute. Limits are known from when the scope's processes looked at them.
func (o *whoOptions) printParts(who *gemini.Who) {
	var units []string
	for _, unit := range gemini.UnitNames() {
		if who.Limits[unit] > 0 {
			units = append(units, unit)
		}
	}
	if len(units) == 0 {
		return
	}
	t := newTable(append([]string{strings.ToUpper(o.By), "CLASS"}, heads(units, who.Limits)...)...)
	for i := range units {
		t.numeric(2 + i)
	}
	for _, r := range who.Rows {
		cells := []any{orElse(r.Name, "(none)"), r.Class}
		for _, unit := range units {
			u := useOf(r.Use, unit)
			cells = append(cells, fmt.Sprintf("%s, %s", percent(millionths(u.OfAvg)), percent(millionths(u.OfMax))))
		}
		t.row(cells...)
	}
	fmt.Fprintln(o.Out, "\nof the limits: on average, and in the largest minute")
	t.render(o.Out)
}

func heads(units []string, limits map[string]int64) (out []string) {
	for _, u := range units {
		out = append(out, fmt.Sprintf("%s (%s)", strings.ToUpper(u), humanize.Comma(limits[u])))
	}
	return out
}

// printFindings says in sentences what the table's reader looks for: who had the
// quota while people were refused, and what does not pass the gate at all.
func (o *whoOptions) printFindings(ctx context.Context, be *backend, who *gemini.Who) error {
	for _, s := range be.whoFindings(who, o.now()) {
		fmt.Fprintln(o.Out, "\n"+s)
	}
	bypass, err := be.control().Bypass(ctx)
	if err != nil {
		return err
	}
	for _, b := range bypass {
		if !b.At.Before(who.From) && !b.At.After(who.To.Add(time.Minute)) {
			fmt.Fprintf(o.Out, "\n%s (at %s). Who else calls with this project's keys?\n", b, clock(b.At, o.now()))
		}
	}
	return nil
}

// whoFindings are the findings of a ranking in words, with the command that helps: for
// the command and for the page.
func (b *backend) whoFindings(who *gemini.Who, now time.Time) []string {
	if who.Overlap == nil || len(who.Overlap.Rows) == 0 {
		if n, _ := who.Waiting.Otherwise(); n > 0 {
			return []string{nobodySuffered(who)}
		}
		return nil
	}
	words := overlapWords(who.Overlap, now)
	if n, by := who.Waiting.Otherwise(); n > 0 {
		words += " In all of the time there were " + otherwiseWords(n, by) + "."
	}
	return []string{words, overlapHelp(who.Overlap, b.conf.classTable())}
}

// nobodySuffered says that others had no part in what those met who wait, and what they
// met all the same.
func nobodySuffered(who *gemini.Who) string {
	n, by := who.Waiting.Otherwise()
	if n == 0 {
		return "Nobody who waits for an answer was refused or slow in this time."
	}
	return "Nobody who waits for an answer was slow in this time, or refused for quota that others had taken; " + otherwiseWords(n, by) + "."
}

// culprit names who used most in the minutes in which calls were refused that
// people waited for; "" when none were.
func culprit(samples []gemini.UsageSample, classes []limiter.Class, now time.Time) string {
	q := gemini.WhoQuery{}
	for _, c := range classes {
		if !c.Pausable {
			q.Waiting = append(q.Waiting, c.Name)
		}
	}
	o := q.Rank(samples, samples, time.Minute, nil).Overlap
	if o == nil {
		return ""
	}
	return overlapWords(o, now)
}

// overlapWords says who had the quota while people suffered.
func overlapWords(o *gemini.Overlap, now time.Time) string {
	most, minutes := o.Rows[0], plural(int(o.Minutes), "minute")
	met := refusals(o.Refused) + " of calls that people waited for"
	switch {
	case o.Refused == 0:
		met = "Calls that people waited for were slow"
	case o.Slow > 0:
		met += fmt.Sprintf(" (%s were slow)", plural(int(o.Slow), "more minute"))
	}
	text := fmt.Sprintf("%s in %s (%s to %s): %s (%s) had %s of the requests and %s of the tokens then.", met, minutes,
		clock(o.First, now), clock(o.Last, now), orElse(most.Name, "(none)"), most.Class,
		percent(millionths(useOf(most.Use, "rpm").Share)), percent(millionths(useOf(most.Use, "input_tpm").Share)))
	if rpm := useOf(o.Others, "rpm"); rpm.Share > 0 && rpm.Sum > useOf(most.Use, "rpm").Sum {
		text += fmt.Sprintf(" All that nobody waits for had %s and %s.", percent(millionths(rpm.Share)), percent(millionths(useOf(o.Others, "input_tpm").Share)))
	}
	return text
}

// overlapHelp is the command for it.
func overlapHelp(o *gemini.Overlap, classes []limiter.Class) string {
	most := o.Rows[0]
	for _, c := range classes {
		if c.Name == most.Class && c.Pausable {
			return fmt.Sprintf("If it goes on: nightshift pause %s --until 30m. So that it does not come back: nightshift quota review says what to reserve.", most.Class)
		}
	}
	return "It is itself what people wait for: nightshift quota show says which limit is full, nightshift quota set raises it."
}

func refusals(n int64) string {
	if n == 1 {
		return "1 refusal"
	}
	return humanize.Comma(n) + " refusals"
}
