package limiter

import (
	"cmp"
	"math"
)

// lua/pull.lua: who gets how much of what all get.

// rung is what a leaf weighs at one level, and among which others.
type rung struct {
	weight int64
	among  string
}

// tree lists the rungs of each leaf that waits, with run and priority as one, and
// what all weigh at each place.
func (m *Model) tree(leaves []*modelLeaf) (map[*modelLeaf][]rung, map[string]int64) {
	rungs, sums, seen := map[*modelLeaf][]rung{}, map[string]int64{}, map[string]bool{}
	for _, f := range leaves {
		if f.waiting == 0 {
			continue
		}
		parts, w := m.level(f.name)
		for len(parts) < len(levels) {
			parts, w = append(parts, ""), append(w, 1)
		}
		w[4], parts[4] = w[4]*w[5], parts[4]+"/"+parts[5]
		parent := ""
		for i := range 5 {
			child := parent + cmp.Or(parts[i], "-") + "/"
			if !seen[child] {
				seen[child] = true
				sums[parent] += w[i]
			}
			rungs[f] = append(rungs[f], rung{w[i], parent})
			parent = child
		}
	}
	return rungs, sums
}

// shareOut gives each leaf that waits its part of what all of them get.
func (m *Model) shareOut(leaves []*modelLeaf) {
	rungs, sums := m.tree(leaves)
	for f, up := range rungs {
		share := float64(million)
		for _, r := range up {
			share = share * float64(r.weight) / float64(sums[r.among])
		}
		f.share = max(1, int64(math.Floor(share)))
	}
}
