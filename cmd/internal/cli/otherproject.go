package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"nightshift/jobs"
	"nightshift/limiter"
)

// otherProject is the project of a run when it is not ours: our workers do not serve
// it, and its limits, pauses and money are not ours to read.
func (b *backend) otherProject(r jobs.Run) string {
	lane, err := limiter.ParseLane(r.Spec.Lane)
	if err != nil || lane.Scope() == b.conf.scope() {
		return ""
	}
	return lane.Project
}

// ourRuns are those of our project.
func (b *backend) ourRuns(ctx context.Context) ([]jobs.Run, error) {
	runs, err := b.store.Runs(ctx)
	return slices.DeleteFunc(runs, func(r jobs.Run) bool { return b.otherProject(r) != "" }), err
}

// otherRuns counts the runs of other projects on the same Redis, by project.
func (b *backend) otherRuns(ctx context.Context) (map[string]int, error) {
	runs, err := b.store.Runs(ctx)
	count := map[string]int{}
	for _, r := range runs {
		if p := b.otherProject(r); p != "" {
			count[p]++
		}
	}
	return count, err
}

// otherRunsLine is all that the screen says of other projects; "" for nothing.
func otherRunsLine(count map[string]int) string {
	n := 0
	for _, of := range count {
		n += of
	}
	names := slices.Sorted(maps.Keys(count))
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("not shown: %s of project %s on the same Redis; nightshift status --project %s", plural(n, "run"), names[0], shellWord(names[0]))
	}
	return fmt.Sprintf("not shown: %s of %d other projects on the same Redis; nightshift status --project %s shows those of one", plural(n, "run"), len(names), shellWord(names[0]))
}
