package cli

import (
	"context"
	"fmt"
	"slices"

	"nightshift/limiter"
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
	return true, o.classRoom(ctx, be)
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
