package cli

import "context"

// openService reaches the fleet's Redis for a process that goes on running,
// and tells the shared state our limits.
func (f *factory) openService(ctx context.Context, command string, logs logFlags) (*backend, error) {
	log, err := f.logger(logs)
	if err != nil {
		return nil, err
	}
	f.log = log // before anything that logs is made
	be, err := f.openFleet(ctx, command)
	if err != nil {
		return nil, err
	}
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
