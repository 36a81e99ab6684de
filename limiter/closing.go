package limiter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClosedBy is what kept requests from starting.
type ClosedBy byte

// By what something is closed.
const (
	ByPause    ClosedBy = iota // of the class, the run or the queue; the reason is the pause's
	ByThrottle                 // of the class or the run, to a share; the reason is the throttle's
	ByRest                     // of the lane; the reason is a refusal's
	ByBreaker                  // of the lane or the project; the reason is a refusal's
	ByMoney                    // a limit in money; the reason is ReasonSpend
)

// Closing is a stretch of time in which something was closed.
type Closing struct {
	By     ClosedBy
	Reason string
	From   time.Time
	To     time.Time // as it stands now: a lease that is renewed is longer. Zero: nobody knows
}

// Closings gives what was closed for requests of a class, a path and a feature in a
// lane, in no order. What ended two months ago is forgotten, as is what came before
// some 600 others of the same reason. Of a lane of another scope nothing is known.
func (r *Redis) Closings(ctx context.Context, l Lane, class string, p Path, feature string) ([]Closing, error) {
	if l.Scope() != r.scope {
		return nil, nil
	}
	ctx, cancel := r.timed(ctx)
	defer cancel()
	by, targets := closable(l, class, p, feature)
	got, err := closingsScript().Run(ctx, r.rdb, r.keys.scope, targets...).Slice()
	if err == nil && len(got) != len(targets) {
		err = fmt.Errorf("%d answers for %d targets", len(got), len(targets))
	}
	if err != nil {
		return nil, fmt.Errorf("limiter: what was closed: %w", err)
	}
	var out []Closing
	for i, v := range got {
		list, _ := v.([]any)
		for j := 0; j+1 < len(list); j += 2 {
			out = readClosings(out, Closing{By: by[i], Reason: text(list[j])}, text(list[j+1]))
		}
	}
	return out, nil
}

// closable are all targets that requests may be closed by.
func closable(l Lane, class string, p Path, feature string) (by []ClosedBy, targets []any) {
	add := func(b ClosedBy, target string) { by, targets = append(by, b), append(targets, target) }
	for _, q := range []Pause{{Class: class}, {Run: p.Run}, {Lane: l.String()}, {Lane: l.String(), Priority: p.Priority}} {
		add(ByPause, q.field())
	}
	add(ByThrottle, Throttle{Class: class}.field())
	add(ByThrottle, slowTarget(p.Run))
	add(ByRest, "c:"+l.short())
	add(ByBreaker, "b:")
	add(ByBreaker, "b:"+l.short())
	add(ByMoney, moneyTarget(l.String(), class))
	add(ByMoney, moneyTarget(l.Scope().ProjectNode(), class))
	p.each(feature, func(kind, id string) { add(ByMoney, moneyTarget(kind+"/"+id, class)) })
	return by, targets
}

// readClosings reads what lua/closing.lua wrote.
func readClosings(out []Closing, like Closing, v string) []Closing {
	for one := range strings.SplitSeq(v, ";") {
		a, b, _ := strings.Cut(one, ",")
		from, err := strconv.ParseInt(a, 10, 64)
		to, err2 := strconv.ParseInt(b, 10, 64)
		if err != nil || err2 != nil {
			continue
		}
		c := like
		if c.From = time.UnixMilli(from); to >= 0 {
			c.To = time.UnixMilli(to)
		}
		out = append(out, c)
	}
	return out
}

// MoneyShort notes that a money limit of a node stops a class for so long from now on,
// if nobody says so again; 0 that it stops it no more.
func (r *Redis) MoneyShort(ctx context.Context, node, class string, d time.Duration) error {
	return r.noteClosing(ctx, moneyTarget(node, class), string(ReasonSpend), d)
}

// RunSlowed notes that a run has but a part of its lane for a reason of its own, such as
// its window, for so long from now on, if nobody says so again; 0 that it has all again.
func (r *Redis) RunSlowed(ctx context.Context, run, reason string, d time.Duration) error {
	return r.noteClosing(ctx, slowTarget(run), reason, d)
}

func (r *Redis) noteClosing(ctx context.Context, target, reason string, d time.Duration) error {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	err := closedScript().Run(ctx, r.rdb, r.keys.scope, r.clockArg(), target, reason, d.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("limiter: noting what %s closes: %w", reason, err)
	}
	return nil
}

func slowTarget(run string) string { return "s:" + run }

func moneyTarget(node, class string) string { return "m:" + node + "|" + class }
