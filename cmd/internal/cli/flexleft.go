package cli

import (
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/worker"
)

// flexLeft is how it stands with flex for an open run that asks for it, while its rows
// go by standard; nil otherwise.
func (b *backend) flexLeft(ctx context.Context, run jobs.Run, c jobs.Counts) (*worker.FlexState, error) {
	if c.Open() == 0 || !worker.ByFlex(run.Spec) {
		return nil, nil
	}
	s, err := worker.Flex(ctx, b.rdb, run.Spec.Lane)
	if err != nil || !s.Escaped() {
		return nil, err
	}
	return &s, nil
}

// flexWords say since when rows pay for standard, and when flex is tried.
func flexWords(s worker.FlexState, now time.Time) string {
	next := "flex is tried again at " + clock(s.Until, now)
	if !s.Until.After(now) {
		next = "the next row tries flex"
	}
	return fmt.Sprintf("flex has no capacity since %s, rows go by standard at its price; %s", clock(s.Since, now), next)
}
