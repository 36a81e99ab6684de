package limiter

import (
	"context"
	"fmt"
	"time"
)

// settlement is one entry of settle.lua.
type settlement struct {
	id    string
	what  string
	lease time.Duration
	used  Amounts
}

// Settle ends a permit by what was really used, in the slot in which it was
// admitted, or corrects it when Partial. A permit that is not there (settled
// before, or gone long after its lease) is no error: settling is idempotent.
func (r *Redis) Settle(ctx context.Context, s Settlement) error {
	x, err := s.entry()
	if err != nil {
		return err
	}
	_, err = r.lane(s.Lane).settle.do(ctx, x, nil)
	return err
}

func (s Settlement) entry() (settlement, error) {
	x := settlement{id: s.ID, what: string(s.Outcome), used: s.Used}
	switch {
	case s.ID == "":
		return x, fmt.Errorf("limiter: settlement without an id")
	case s.Partial:
		x.what = "partial"
	case s.Outcome == Released:
		x.used = Amounts{}
	case s.Outcome != Settled:
		return x, fmt.Errorf("limiter: outcome %q; want %q or %q", s.Outcome, Settled, Released)
	}
	return x, s.Used.check()
}

// Extend moves the end of a lease to lease from now. ErrLapsed says that it had
// ended already, ErrNoPermit that there is none.
func (r *Redis) Extend(ctx context.Context, l Lane, id string, lease time.Duration) error {
	got, err := r.lane(l).settle.do(ctx, settlement{id: id, what: "extend", lease: lease}, nil)
	if err != nil {
		return err
	}
	return extended(got)
}

func extended(code int64) error {
	switch code {
	case 0:
		return ErrNoPermit
	case 2:
		return ErrLapsed
	}
	return nil
}

func (r *Redis) settleMany(l Lane, keys []string, ss []settlement) ([]int64, error) {
	ctx, cancel := r.timed(context.Background())
	defer cancel()
	args := make([]any, 0, 1+11*len(ss))
	args = append(args, len(ss))
	for i := range ss {
		s := &ss[i]
		args = append(args, s.id, s.what, int64(s.lease/time.Millisecond))
		for _, n := range s.used {
			args = append(args, n)
		}
	}
	got, err := r.call(ctx, settleScript(), l, keys, args...)
	if err != nil {
		return nil, err
	}
	out, err := numbers(got.rest)
	if err == nil && len(out) != len(ss) {
		err = fmt.Errorf("limiter: %d answers to %d settlements", len(out), len(ss))
	}
	return out, err
}
