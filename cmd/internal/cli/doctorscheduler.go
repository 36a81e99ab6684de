package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nightshift/scheduler"
)

// checkScheduler looks whether a scheduler runs where something needs one.
func (b *backend) checkScheduler(ctx context.Context) checkup {
	members, err := b.control().Members(ctx)
	if err != nil {
		return checkup{"scheduler", verdictUnknown, firstLine(err.Error()), ""}
	}
	if slices.ContainsFunc(members, func(m scheduler.Member) bool { return m.Fence > 0 }) {
		return checkup{"scheduler", verdictGood, plural(len(members), "scheduler") + " at work", ""}
	}
	runs, err := b.steeredRuns(ctx)
	if err != nil {
		return checkup{"scheduler", verdictUnknown, firstLine(err.Error()), ""}
	}
	var needs []string
	if n := len(b.conf.Schedules); n > 0 {
		needs = append(needs, plural(n, "schedule")+" start nothing")
	}
	if len(runs) > 0 {
		needs = append(needs, "nobody keeps window, deadline or cap of "+strings.Join(runs[:min(len(runs), 3)], ", ")+more(len(runs)-3))
	}
	if len(needs) == 0 {
		return checkup{"scheduler", verdictUnknown, "none at work now", "nightshift scheduler"}
	}
	return checkup{"scheduler", verdictBad, "none at work: " + strings.Join(needs, "; "), "nightshift scheduler"}
}

// waitingRows are those of our runs that have not ended.
func (b *backend) waitingRows(ctx context.Context) (n int64, err error) {
	runs, err := b.ourRuns(ctx)
	for _, r := range runs {
		c, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			return n, err
		}
		n += c.Open()
	}
	return n, err
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// steeredRuns names our open runs whose settings somebody has to keep.
func (b *backend) steeredRuns(ctx context.Context) (names []string, err error) {
	ids, err := b.store.Watched(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := b.ourRuns(ctx)
	for _, r := range runs {
		if !r.Spec.Steer.Watched() || !slices.Contains(ids, r.ID) {
			continue
		}
		c, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			return names, err
		}
		if c.Open() > 0 {
			names = append(names, r.Title())
		}
	}
	return names, err
}
