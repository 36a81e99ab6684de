package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
)

// addPaths shows a page of the tenants and others with limits of their own: the
// fullest first, as far as that is known.
func (d *dashboardNow) addPaths(ctx context.Context, out *dashboard.Overview, q dashboard.NowQuery) error {
	nodes, err := d.lim.Nodes(ctx)
	if err != nil {
		return err
	}
	nodes = slices.DeleteFunc(nodes, isPattern)
	out.Totals.Paths = len(nodes)
	d.ranks.refresh(ctx, d.backend, nodes, out.At)
	text := strings.ToLower(q.Text)
	nodes = slices.DeleteFunc(nodes, func(n string) bool { return !strings.Contains(strings.ToLower(n), text) })
	d.ranks.sort(nodes)
	out.PathsFound = len(nodes)
	for _, node := range onPage(nodes, q.Paths, dashboard.PathsOnPage) {
		s, err := d.lim.NodeState(ctx, node)
		if errors.Is(err, limiter.ErrUnknownNode) {
			continue // it went away meanwhile
		}
		if err != nil {
			return err
		}
		out.Paths = append(out.Paths, pathView(s, out.At))
	}
	return nil
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

// ranksFor is how long the order of the paths holds: a page must not wait for a
// look at each of thousands.
const ranksFor = 20 * time.Second

// nodeRanks is how full each path was at the last look.
type nodeRanks struct {
	mu   sync.Mutex
	full map[string]float64 // guarded by mu
	at   time.Time          // of the last look's beginning; guarded by mu
}

// refresh looks at all of them beside the page that asked, unless somebody just did.
func (r *nodeRanks) refresh(ctx context.Context, b *backend, nodes []string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at) < ranksFor {
		return
	}
	r.at = now
	nodes = slices.Clone(nodes)
	go r.look(context.WithoutCancel(ctx), b, nodes)
}

func (r *nodeRanks) look(ctx context.Context, b *backend, nodes []string) {
	ctx, cancel := context.WithTimeout(ctx, ranksFor)
	defer cancel()
	full := map[string]float64{}
	for _, node := range nodes {
		if s, err := b.lim.NodeState(ctx, node); err == nil {
			full[node] = fullness(s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = full
}

// sort puts the fullest first; those that nobody has looked at stay by name.
func (r *nodeRanks) sort(nodes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(r.full[b], r.full[a]) })
}
