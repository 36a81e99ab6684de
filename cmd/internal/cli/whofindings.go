package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// printFindings says in sentences what the table's reader looks for: who had the
// quota while people were refused, and what does not pass the gate at all.
func (o *whoOptions) printFindings(ctx context.Context, be *backend, samples []gemini.UsageSample, from, to time.Time) error {
	if s := culprit(samples, be.conf.classTable(), o.now()); s != "" {
		fmt.Fprintln(o.Out, "\n"+s)
	}
	bypass, err := be.control().Bypass(ctx)
	if err != nil {
		return err
	}
	for _, b := range bypass {
		if !b.At.Before(from) && !b.At.After(to.Add(time.Minute)) {
			fmt.Fprintf(o.Out, "\n%s (at %s). Who else calls with this project's keys?\n", b, clock(b.At, o.now()))
		}
	}
	return nil
}

// culprit names who used most in the minutes in which calls were refused that
// people waited for; "" when none were.
func culprit(samples []gemini.UsageSample, classes []limiter.Class, now time.Time) string {
	waited := map[string]bool{} // classes that people wait for
	for _, c := range classes {
		waited[c.Name] = !c.Pausable
	}
	bad := map[time.Time]bool{}
	var refused int64
	var minutes []time.Time
	for _, s := range samples {
		if n := s.Provider429 + s.Refused; waited[s.Class] && n > 0 {
			refused += n
			if !bad[s.At] {
				bad[s.At], minutes = true, append(minutes, s.At)
			}
		}
	}
	if refused == 0 {
		return ""
	}
	slices.SortFunc(minutes, time.Time.Compare)
	then := slices.DeleteFunc(slices.Clone(samples), func(s gemini.UsageSample) bool { return !bad[s.At] })
	most := whoTable(then, minutes[0], minutes[len(minutes)-1].Add(time.Minute))[0]
	return fmt.Sprintf("%s of calls that people waited for in %s (%s to %s): %s (%s) had %s of the requests and %s of the tokens then.",
		refusals(refused), plural(len(minutes), "minute"), clock(minutes[0], now), clock(minutes[len(minutes)-1].Add(time.Minute), now),
		most.Feature, most.Class, percent(most.RequestsShare), percent(most.TokensShare))
}

func refusals(n int64) string {
	if n == 1 {
		return "1 refusal"
	}
	return humanize.Comma(n) + " refusals"
}
