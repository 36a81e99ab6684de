package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// tooLargeNow says of rows that wait which of them, by the average of their line, a
// changed configuration could never take: their calls would be refused for good.
func (b *backend) tooLargeNow(ctx context.Context, node string, after limiter.Config) (notes []string, err error) {
	for _, lc := range after.Lanes {
		limits, all := limitsFor(node, lc, after)
		if len(limits.List()) == 0 {
			continue
		}
		s, err := b.lim.State(ctx, lc.Lane)
		if err != nil {
			continue // no limits of its own yet: nothing waits there
		}
		for _, f := range s.Leaves {
			if f.Waiting == 0 || !all && !slices.Contains(after.NodesOf(limiter.ParseLeaf(f.Leaf), ""), node) {
				continue
			}
			for _, l := range limits.List() {
				if note := b.tooLargeLine(ctx, f, l, after); note != "" {
					notes = append(notes, note)
				}
			}
		}
	}
	return notes, nil
}

// limitsFor are a node's limits for what waits in a lane; all when they hold for
// every line of it.
func limitsFor(node string, lc limiter.LaneConfig, c limiter.Config) (l limiter.Limits, all bool) {
	if lane, err := limiter.ParseLane(node); err == nil {
		if lane.String() != lc.Lane.String() {
			return l, false
		}
		return lc.Limits, true
	}
	return c.Nodes[node], node == c.Scope.ProjectNode()
}

func (b *backend) tooLargeLine(ctx context.Context, f limiter.LeafState, l limiter.Limit, c limiter.Config) string {
	each, most := f.Booked[l.Unit]/f.Waiting, l.Amount
	if l.Unit == limiter.MicroUSD && l.Window != limiter.TenMinutes && c.SoftPPM > 0 {
		most = int64(float64(most) * float64(c.SoftPPM) / ppm)
	}
	if each <= most {
		return ""
	}
	whose, run := f.Class+" "+lineName(f.Leaf), limiter.ParseLeaf(f.Leaf).Run
	if r, err := b.store.Find(ctx, run); run != "" && err == nil {
		whose = "run " + r.Title()
	}
	remedy := "set it higher, or cancel them"
	if l.Unit == limiter.MicroUSD {
		remedy = "a row is held at the most that it may cost; set the cap higher, or cancel them and enqueue them with a smaller --max-output-tokens"
	}
	return fmt.Sprintf("warning: %s rows of %s wait that take about %s of %s each, more than it can ever give: they would fail as too large. %s",
		humanize.Comma(f.Waiting), whose, amount(l.Unit, each), l.Name(), strings.ToUpper(remedy[:1])+remedy[1:])
}
