package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// setValue is what somebody set over the configuration.
type setValue struct {
	limiter.Override
	Absent bool `json:"absent,omitempty"` // nothing of that name is configured now, so it has no effect
}

func (v *quotaView) addSet(ctx context.Context, b *backend) error {
	conf, err := b.lim.Effective(ctx)
	if err != nil {
		return err
	}
	overrides, err := b.lim.Overrides(ctx)
	for _, o := range overrides {
		v.Set = append(v.Set, setValue{o, absent(conf, o)})
	}
	return err
}

// absent tells whether a configuration has no lane or class of an override's name.
// Other nodes begin to exist by what is set of them.
func absent(c limiter.Config, o limiter.Override) bool {
	if class, ok := strings.CutPrefix(o.Node, "class/"); ok {
		return !slices.ContainsFunc(c.Classes, func(x limiter.Class) bool { return x.Name == class })
	}
	_, err := limiter.ParseLane(o.Node)
	return err == nil && !slices.ContainsFunc(c.Lanes, func(l limiter.LaneConfig) bool { return l.Lane.String() == o.Node })
}

// showSet lists what was set over the configuration, and how to undo it.
func (o *showOptions) showSet(v *quotaView) {
	t := newTable("TARGET", "VALUE", "BY", "AT", "TO UNDO")
	for _, s := range v.Set {
		target := shownTarget(s.Node)
		value, by := s.Name+" "+valueText(s.Override), orElse(s.By, "somebody")
		if s.Source == limiter.SourceProvider {
			by = "the provider's 429"
		}
		if s.Capacity() {
			value, by = s.Name+" as it has room", "the provider's want of capacity"
		}
		t.row(target, value, by, cellClock(s.At, o.now()), fmt.Sprintf("nightshift quota unset %s %s", shellWord(target), s.Name))
	}
	section(o.Out, "set over the configuration, times in "+zoneName(time.Local, o.now()), t)
	for _, s := range v.Set {
		if s.Absent {
			fmt.Fprintf(o.Out, "%s is not configured now: its %s has no effect until it is\n", shownTarget(s.Node), s.Name)
		}
	}
}
