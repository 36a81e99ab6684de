package scheduler

import (
	"context"
	"log/slog"
	"time"
)

// repeat does something at once and then at an even pace until the context ends.
// A failure that repeats is told once.
func repeat(ctx context.Context, every time.Duration, log *slog.Logger, what string, do func(context.Context) error) {
	said := ""
	for next := time.Now(); ctx.Err() == nil; {
		err := do(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && said != "":
			log.Info("works again", "doing", what)
			said = ""
		case err != nil && err.Error() != said:
			log.Warn("failed and will be tried again", "doing", what, "err", err)
			said = err.Error()
		}
		next = next.Add(every)
		if late := time.Since(next); late > 0 {
			next = next.Add(late) // what was missed is not made up for
		}
		pause(ctx, time.Until(next))
	}
}
