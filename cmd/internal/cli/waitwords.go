package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/jobs"
)

// waitsLine says how long something waited and for what, the longest first:
// "2h10m: quota 1h50m, window 20m00s"; "" when it did not wait for a second. What is
// below a hundredth of it is left out.
func waitsLine(w jobs.Waits) string {
	total := w.Total()
	if total < time.Second {
		return ""
	}
	causes := make([]jobs.WaitCause, 0, len(w))
	for i, d := range w {
		if d >= time.Second && d >= total/100 {
			causes = append(causes, jobs.WaitCause(i))
		}
	}
	slices.SortStableFunc(causes, func(a, b jobs.WaitCause) int { return cmp.Compare(w[b], w[a]) })
	parts := make([]string, len(causes))
	for i, c := range causes {
		parts[i] = c.String() + " " + ago(w[c])
	}
	if len(parts) == 0 {
		return ago(total)
	}
	return ago(total) + ": " + strings.Join(parts, ", ")
}

// aRow is the share of each of so many rows.
func aRow(w jobs.Waits, rows int64) (each jobs.Waits) {
	for i, d := range w {
		each[i] = d / time.Duration(max(rows, 1))
	}
	return each
}

// readWaits adds what the rows that have ended waited. Answers that were taken over
// waited for nothing, and nobody counts what rows waited that were cancelled.
func (b *backend) readWaits(ctx context.Context, s *runStatus) error {
	w, err := b.store.Waits(ctx, s.ID)
	if err != nil {
		return err
	}
	s.Waits = w.Millis()
	if line := waitsLine(aRow(w, s.counts.Total()-s.counts.Open()-s.counts[jobs.Cached]-s.counts[jobs.Cancelled])); line != "" {
		s.waited = line + " (a row that has ended, on average)"
	}
	return nil
}

// waited says of a row what it waited until now, or until its end.
func (o *whyOptions) waited(ctx context.Context, be *backend, run jobs.Run, row jobs.RowInfo) error {
	switch {
	case row.State == jobs.Running: // its time goes on, and is no wait
		return nil
	case row.Result != nil && row.State.Terminal():
		if line := waitsLine(jobs.WaitsOf(row.Result.WaitsMS)); line != "" {
			fmt.Fprintf(o.Out, "It waited %s.\n", line)
		}
		return nil
	case row.State.Terminal():
		return nil
	}
	w, err := be.store.RowWait(ctx, run, row.Task)
	if line := waitsLine(w.Waits); err == nil && line != "" {
		fmt.Fprintf(o.Out, "It has waited %s.\n", line)
	}
	return err
}
