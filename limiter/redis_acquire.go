package limiter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Acquire asks for a permit. The error is a *Denied when the rules refuse, with
// ReasonUnavailable when Redis cannot be reached; any other error is a request
// that can never be decided. A permit must be settled or released.
func (r *Redis) Acquire(ctx context.Context, q Request) (*Permit, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	p, err := r.acquire(ctx, q)
	if c := r.config.Load(); c != nil {
		err = c.complete(q, err)
	}
	return p, err
}

func (r *Redis) acquire(ctx context.Context, q Request) (*Permit, error) {
	ctx, cancel := r.timed(ctx) // the client's own timeouts may be longer
	defer cancel()
	a, err := r.lane(q.Lane).acquire.do(ctx, q, r.tooLate(q))
	switch {
	case errors.Is(err, ErrUnknownLane):
		return nil, unknownLane(q, r.now().UnixMilli())
	case err != nil:
		return nil, unavailable(q, r.now(), err)
	}
	return a.result(q)
}

// tooLate is what is done with an answer for which nobody waits any more: nil for
// nothing.
func (r *Redis) tooLate(q Request) func(answer) {
	if q.Owed {
		return nil
	}
	return func(a answer) { r.giveBack(q, a) }
}

// giveBack releases a permit that was granted after its caller had gone.
func (r *Redis) giveBack(q Request, a answer) {
	if a.permit == nil {
		return
	}
	err := r.Settle(context.Background(), Settlement{ID: q.ID, Lane: q.Lane, Outcome: Released})
	if err != nil {
		r.log.Warn("a permit that nobody waits for ends with its lease", "permit", q.ID, "error", err)
	}
}

func (r *Redis) acquireMany(l Lane, keys []string, qs []Request) ([]answer, error) {
	ctx, cancel := r.timed(context.Background())
	defer cancel()
	got, err := r.ask(ctx, l, keys, qs)
	if errors.Is(err, ErrUnknownLane) && r.restore(ctx, l) {
		got, err = r.ask(ctx, l, keys, qs)
	}
	if err != nil {
		return nil, err
	}
	if len(got.rest) != len(qs) {
		return nil, fmt.Errorf("limiter: %d answers to %d requests", len(got.rest), len(qs))
	}
	out := make([]answer, len(qs))
	for i, v := range got.rest {
		if out[i], err = readAnswer(qs[i], v, got.now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ask runs the script, and again with the newest configuration while the one that
// this process knows is an old one: what nodes a path has must be true.
func (r *Redis) ask(ctx context.Context, l Lane, keys []string, qs []Request) (got reply, err error) {
	for range 4 {
		if err := r.loaded(ctx); err != nil {
			return reply{}, err
		}
		s := r.settings.Load()
		args := make([]any, 0, 2+15*len(qs))
		args = append(args, s.rev, len(qs))
		for i := range qs {
			args = appendRequest(args, &s.effective, &qs[i])
		}
		if got, err = r.call(ctx, acquireScript(), l, keys, args...); !errors.Is(err, errOld) {
			return got, err
		}
		if _, err := r.load(ctx); err != nil {
			return reply{}, err
		}
	}
	return got, err
}

func appendRequest(args []any, c *Config, q *Request) []any {
	on := q.Feature + "\n" + strings.Join(c.nodesOf(q.Path, q.Feature), "\n")
	args = append(args, q.ID, q.Class, int64(q.lease()/time.Millisecond), q.Ticket, q.Path.Leaf(), q.mode(), on)
	for _, n := range q.charged() {
		args = append(args, n)
	}
	return args
}

func (q Request) mode() int {
	switch {
	case q.Full:
		return 1
	case q.Force:
		return 2
	case q.ask:
		return 3
	case q.Wait > 0:
		return 10 + int(q.waitMS())
	}
	return 0
}

// waitMS is Wait in ms, of a request that may wait.
func (q Request) waitMS() int64 {
	if q.Full || q.Force || q.ask || q.Wait <= 0 {
		return 0
	}
	return max(1, q.Wait.Milliseconds())
}

func readAnswer(q Request, v any, now int64) (answer, error) {
	a, ok := v.([]any)
	if !ok || len(a) < 2 {
		return answer{}, fmt.Errorf("limiter: strange answer %v", v)
	}
	switch a[0] {
	case int64(1):
		return readPermit(q, a, now)
	case int64(2):
		p, err := stored(q, text(a[1]))
		return answer{now: now, permit: p}, err
	}
	if len(a) != 12 {
		return answer{}, fmt.Errorf("limiter: strange refusal %v", a)
	}
	n, err := numbers(a[2:9])
	if err != nil {
		return answer{}, err
	}
	return answer{now: now, reason: Reason(text(a[1])), unit: n[0], window: n[1], limit: n[2], used: n[3], short: n[4],
		retryAt: n[5], position: n[6], detail: text(a[9]), node: text(a[10]), uses: text(a[11])}, nil
}

// readPermit reads {1, granted, expires}, and {…, reason, unit, window, node,
// shadow, look} of a permit that a rule, or limits in shadow, were against, or that
// looks whether a breaker still holds.
func readPermit(q Request, a []any, now int64) (answer, error) {
	var over, soft string
	var shadow []string
	look := false
	if len(a) == 9 {
		n, err := numbers(a[4:6])
		if err != nil {
			return answer{}, err
		}
		over = overBy(Reason(text(a[3])), text(a[6]), n[0], n[1])
		shadow, soft = readNotes(text(a[7]))
		look = a[8] == int64(1)
		a = a[:3]
	}
	n, err := numbers(a[1:])
	if err != nil || len(n) != 2 {
		return answer{}, fmt.Errorf("limiter: strange permit %v", a)
	}
	p := newPermit(q, n[0], n[1])
	p.Over, p.Shadow, p.Soft, p.Probe = over, shadow, soft, look
	return answer{now: now, permit: p}, nil
}

// readNotes reads lines "NODE UNIT WINDOW" of limits in shadow, and those that
// begin with "soft" of soft ones.
func readNotes(lines string) (shadow []string, soft string) {
	for line := range strings.Lines(lines) {
		rest, isSoft := strings.CutPrefix(line, "soft ")
		var node string
		var unit, window int
		if _, err := fmt.Sscan(rest, &node, &unit, &window); err != nil {
			continue
		}
		name := node + " " + Limit{Unit: Unit(unit), Window: Window(window)}.Name()
		if isSoft {
			soft = join(soft, name)
		} else {
			shadow = append(shadow, name)
		}
	}
	return shadow, soft
}
