package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/hibiken/asynq"

	"nightshift/jobs"
	"nightshift/worker"
)

// sampledRetries is how many tasks are looked at for what rows failed of last.
const sampledRetries = 500

// noteRetries: rows that failed and are tried again are in no table yet.
func (o *errorsOptions) noteRetries(ctx context.Context, be *backend, run jobs.Run) error {
	counts, err := be.store.Counts(ctx, run.ID)
	if n := counts[jobs.RetryWait]; err == nil && n > 0 {
		text := fmt.Sprintf("%s wait for another attempt", plural(int(n), "row"))
		if of := be.retriedOf(run); of != "" {
			text += ", of the last failures: " + of
		}
		o.say("%s", text)
	}
	return err
}

// retriedOf adds up what a run's rows failed of last: "overloaded 12, timeout 3";
// "" when that is not known.
func (b *backend) retriedOf(run jobs.Run) string {
	tasks, err := asynq.NewInspectorFromRedisClient(b.rdb).ListRetryTasks(run.Spec.Queue(), asynq.PageSize(sampledRetries))
	if err != nil && !errors.Is(err, asynq.ErrQueueNotFound) {
		return "not known (" + err.Error() + ")"
	}
	causes := map[string]int{}
	for _, t := range tasks {
		if task, err := jobs.ParseTaskID(t.ID); err != nil || task.Run != run.ID {
			continue
		}
		if cause := worker.FailedOf(t.LastErr); cause != "" {
			causes[cause]++
		}
	}
	var parts []string
	for _, c := range slices.SortedFunc(maps.Keys(causes), func(a, b string) int { return cmp.Or(cmp.Compare(causes[b], causes[a]), cmp.Compare(a, b)) }) {
		parts = append(parts, c+" "+humanize.Comma(int64(causes[c])))
	}
	return strings.Join(parts, ", ")
}
