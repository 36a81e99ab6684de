package limiter

import (
	"context"
	"errors"
)

// Set puts values over the configuration, for all processes of the scope and
// until they are unset: all of them or none. What was used stays used. The error
// is a *ConfigError when one is wrong, or the whole with them.
func (r *Redis) Set(ctx context.Context, overrides ...Override) error {
	return r.Override(ctx, Change{Set: overrides})
}

// Unset takes one value back, or with an empty name all of a node, so that what
// is configured holds again; ErrNoOverride when there is none.
func (r *Redis) Unset(ctx context.Context, node, name string) error {
	return r.Override(ctx, Change{Unset: []Override{{Node: node, Name: name}}})
}

// Overrides gives all values that are set, those without effect too.
func (r *Redis) Overrides(ctx context.Context) ([]Override, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	s, err := r.read(ctx)
	return s.overrides, err
}

// Configured gives the configuration as some process brought it, without what
// was set over it.
func (r *Redis) Configured(ctx context.Context) (Config, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	s, err := r.read(ctx)
	return s.file, err
}

// Effective gives the configuration that is enforced: the configured one with
// what was set over it.
func (r *Redis) Effective(ctx context.Context) (Config, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	return r.load(ctx)
}

// Try says what Override would change, and whether it would be refused: the
// configuration that is enforced now, and the one that would be.
func (r *Redis) Try(ctx context.Context, ch Change) (now, then Config, err error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	s, err := r.read(ctx)
	if err != nil {
		return now, then, err
	}
	next, err := s.changed(ch, r.now())
	return s.effective, next.effective, err
}

// Override changes what is set over the configuration.
func (r *Redis) Override(ctx context.Context, ch Change) error {
	for range patience {
		done, err := r.override(ctx, ch)
		if err != nil || done {
			return err
		}
	}
	return errBusy
}

// errBusy is the end of patience.
var errBusy = errors.New("limiter: others change the limits at the same time; nothing was changed")

// patience bounds how often a change begins anew because another came between.
const patience = 20

// override makes one try; false when others changed something meanwhile.
func (r *Redis) override(ctx context.Context, ch Change) (bool, error) {
	s, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		return false, err
	}
	next, err := s.changed(ch, now)
	if err != nil {
		return false, err
	}
	done, err := r.write(ctx, s, &next, s.text)
	if err != nil || !done {
		return false, err
	}
	defer r.note(ctx, overridden(s.effective, next.effective, ch))
	return true, r.enforce(ctx, s.effective, next)
}

// bringBack sets again what was lost, unless it does not go with what is there
// since: the counters must come back in any case.
func (r *Redis) bringBack(ctx context.Context, lost []Override) error {
	for range patience {
		s, err := r.read(ctx)
		if err != nil {
			return err
		}
		next, news, wrong := s.broughtBack(lost)
		if wrong != nil {
			r.log.Error("what was set over the configuration is lost with Redis's data", "error", wrong)
		}
		if !news {
			return nil
		}
		done, err := r.write(ctx, s, &next, s.text)
		if err != nil || done {
			return errors.Join(err, r.enforce(ctx, s.effective, next))
		}
	}
	return errBusy
}
