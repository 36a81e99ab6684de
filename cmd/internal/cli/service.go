package cli

import (
	"context"
	"log/slog"
)

// openService reaches the fleet's Redis for a process that goes on running,
// and tells the shared state our limits.
func (f *factory) openService(ctx context.Context, command string, json bool) (*backend, error) {
	be, err := f.openFleet(ctx, command)
	if err != nil {
		return nil, err
	}
	be.log = f.logger(json)
	if len(be.conf.Models) == 0 {
		be.close()
		return nil, be.conf.noLimits("gemini-3.5-flash")
	}
	if err := be.configure(ctx); err != nil {
		be.close()
		return nil, err
	}
	warnRedis(ctx, be)
	return be, nil
}

// logger is a long-running process's log, on standard error.
func (f *factory) logger(json bool) *slog.Logger {
	if json {
		return slog.New(slog.NewJSONHandler(f.Err, nil))
	}
	return slog.New(slog.NewTextHandler(f.Err, nil))
}
