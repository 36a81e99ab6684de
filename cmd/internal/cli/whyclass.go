package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// class says what holds a whole class back.
func (o *whyOptions) class(ctx context.Context, be *backend) (bool, error) {
	if !slices.Contains(classNames(), o.What) {
		return false, nil
	}
	pauses, err := be.lim.Pauses(ctx)
	if err != nil {
		return true, err
	}
	throttles, err := be.lim.Throttles(ctx)
	if err != nil {
		return true, err
	}
	free := true
	for _, p := range pauses {
		if p.Class == o.What {
			free = false
			fmt.Fprintln(o.Out, pauseSentence(&p, o.now())+".")
		}
	}
	for _, t := range throttles {
		if t.Class == o.What {
			free = false
			fmt.Fprintln(o.Out, throttleSentence(t, o.now())+".")
		}
	}
	if free {
		fmt.Fprintf(o.Out, "class %s is neither paused nor held back.\n", o.What)
	}
	return true, firstError(o.classRefused(ctx, be), o.classRoom(ctx, be))
}

// classRefused says what was lately refused of the class's calls, and for what.
func (o *whyOptions) classRefused(ctx context.Context, be *backend) error {
	samples, err := gemini.ReadMeter(ctx, be.rdb, be.conf.scope(), gemini.StepMinute, o.now().Add(-lately).Truncate(time.Minute), o.now())
	if err != nil {
		return err
	}
	var sum gemini.UsageSample
	for _, s := range samples {
		if s.Class == o.What {
			sum.Merge(s)
		}
	}
	fmt.Fprintln(o.Out, refusedLately(sum))
	return nil
}

// refusedLately says what became of a class's calls in the last minutes, as far as they
// were refused. Rows that went into a line are no calls yet, and are told of beside them.
func refusedLately(s gemini.UsageSample) string {
	within := fmt.Sprintf("in the last %d minutes", int(lately.Minutes()))
	if s.Calls == 0 && s.Queued == 0 {
		return fmt.Sprintf("nothing of it asked for quota %s.", within)
	}
	var parts []string
	if s.Calls > 0 {
		parts = append(parts, fmt.Sprintf("we refused %s of %s", humanize.Comma(s.Refused), callsOf(s.Calls)))
	}
	if s.Queued > 0 {
		parts = append(parts, "put rows into the line "+timesWord(int(s.Queued)))
	}
	text := within + " " + strings.Join(parts, " and ")
	if by := countWords(s.RefusedBy(), number); by != "" {
		text += " (" + by + ")"
	}
	if s.Provider429 > 0 {
		text += fmt.Sprintf("; the provider refused %s", humanize.Comma(s.Provider429))
		if by := countWords(s.RefusedThere(), number); by != "" {
			text += " (" + by + ")"
		}
	}
	return text + "."
}

// classRoom says what the class may still use of each lane.
func (o *whyOptions) classRoom(ctx context.Context, be *backend) error {
	states, err := be.laneStates(ctx, "")
	for _, s := range states {
		for _, l := range s.Limits {
			at := slices.IndexFunc(l.Classes, func(c limiter.ClassUse) bool { return c.Class == o.What })
			if at >= 0 {
				c, more := l.Classes[at], "may take "+amount(l.Unit, l.Classes[at].Room)+" more now"
				if l.Shadow {
					more = "in shadow: refuses nothing"
				}
				fmt.Fprintf(o.Out, "%s, %s: uses %s of %s, %s.\n", s.Lane.Model, l.Name, amount(l.Unit, c.Used), amount(l.Unit, l.Amount), more)
			}
		}
	}
	return err
}
