package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
)

// addPaths shows a page of the tenants and others with limits of their own: the
// fullest first, as it was some seconds ago.
func (d *dashboardNow) addPaths(ctx context.Context, out *dashboard.Overview, all []string, q dashboard.NowQuery) error {
	out.Totals.Paths = len(all)
	full, err := d.full.Seen(ctx, out.At, fullEvery, d.lookFull)
	if err != nil {
		return err
	}
	nodes, text := []string{}, strings.ToLower(q.Text)
	for _, n := range all {
		if strings.Contains(strings.ToLower(n), text) {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(full[b], full[a]) })
	out.PathsFound = len(nodes)
	states, err := d.lim.NodeStates(ctx, onPage(nodes, q.Paths, dashboard.PathsOnPage))
	for _, s := range states { // without those that went away meanwhile
		out.Paths = append(out.Paths, pathView(s, out.At))
	}
	return err
}

// lookFull finds how full each path is, which orders them.
func (d *dashboardNow) lookFull(ctx context.Context) (map[string]float64, error) {
	nodes, err := d.lim.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	states, err := d.lim.NodeStates(ctx, slices.DeleteFunc(nodes, isPattern))
	full := make(map[string]float64, len(states))
	for _, s := range states {
		full[s.Node] = fullness(s)
	}
	return full, err
}

func pathView(s limiter.NodeState, now time.Time) dashboard.PathView {
	v := dashboard.PathView{Name: s.Node}
	if s.From != s.Node {
		v.From = s.From
	}
	for _, l := range s.Limits {
		v.Limits = append(v.Limits, limitView(l, s.At, now))
	}
	return v
}
