package limiter

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Explanation is what Acquire would say now, and every limit on the way.
type Explanation struct {
	At      time.Time   `json:"at"`
	Granted bool        `json:"granted"`
	Denied  *Denied     `json:"denied,omitempty"` // when not granted
	Lane    LaneState   `json:"lane"`
	Nodes   []NodeState `json:"nodes"` // with limits, on the request's path
}

// questioned is what an explanation is made from.
type questioned interface {
	Acquire(context.Context, Request) (*Permit, error)
	State(context.Context, Lane) (LaneState, error)
	NodeState(context.Context, string) (NodeState, error)
	Effective(context.Context) (Config, error)
}

// Explain tells what Acquire would answer now; nothing is charged and nobody gets a
// place. The states are read right after, so they may be a moment younger.
func (r *Redis) Explain(ctx context.Context, q Request) (Explanation, error) {
	return explain(ctx, r, q)
}

// Explain is Redis.Explain on the Model's clock.
func (m *Model) Explain(ctx context.Context, q Request) (Explanation, error) {
	return explain(ctx, m, q)
}

func explain(ctx context.Context, l questioned, q Request) (e Explanation, err error) {
	if err = e.answer(ctx, l, q); err != nil {
		return e, err
	}
	if e.Lane, err = l.State(ctx, q.Lane); err != nil {
		return e, err
	}
	e.At = e.Lane.At
	c, err := l.Effective(ctx)
	if err != nil {
		return e, err
	}
	for _, node := range c.nodesOf(q.Path, q.Feature) {
		s, err := l.NodeState(ctx, node)
		if err != nil {
			return e, err
		}
		e.Nodes = append(e.Nodes, s)
	}
	return e, nil
}

func (e *Explanation) answer(ctx context.Context, l questioned, q Request) error {
	q.ask, q.Ticket, q.Full, q.Force = true, "", false, false
	q.ID = cmp.Or(q.ID, "explain")
	_, err := l.Acquire(ctx, q)
	if err == nil {
		e.Granted = true
		return nil
	}
	if !errors.As(err, &e.Denied) || e.Denied.Reason == ReasonUnavailable {
		return err
	}
	return nil
}

// Ask is what Acquire would answer now, nil when it would grant, without the limits
// on the way.
func (r *Redis) Ask(ctx context.Context, q Request) (*Denied, error) {
	var e Explanation
	err := e.answer(ctx, r, q)
	return e.Denied, err
}
