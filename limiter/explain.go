package limiter

import (
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

// Explain tells what Acquire would answer now; nothing is charged and nobody gets a
// place. The states are read right after, so they may be a moment younger.
func (r *Redis) Explain(ctx context.Context, q Request) (Explanation, error) {
	var e Explanation
	if err := e.answer(q, func(q Request) (*Permit, error) { return r.Acquire(ctx, q) }); err != nil {
		return e, err
	}
	var err error
	if e.Lane, err = r.State(ctx, q.Lane); err != nil {
		return e, err
	}
	e.At = e.Lane.At
	for _, node := range r.config.Load().nodesOf(q.Path, q.Feature) {
		s, err := r.NodeState(ctx, node)
		if err != nil {
			return e, err
		}
		e.Nodes = append(e.Nodes, s)
	}
	return e, nil
}

// Explain is Redis.Explain on the Model's clock.
func (m *Model) Explain(ctx context.Context, q Request) (Explanation, error) {
	var e Explanation
	if err := e.answer(q, func(q Request) (*Permit, error) { return m.Acquire(ctx, q) }); err != nil {
		return e, err
	}
	var err error
	if e.Lane, err = m.State(ctx, q.Lane); err != nil {
		return e, err
	}
	e.At = e.Lane.At
	for _, node := range m.config.nodesOf(q.Path, q.Feature) {
		s, err := m.NodeState(ctx, node)
		if err != nil {
			return e, err
		}
		e.Nodes = append(e.Nodes, s)
	}
	return e, nil
}

func (e *Explanation) answer(q Request, acquire func(Request) (*Permit, error)) error {
	q.ask, q.Ticket, q.Full, q.Force = true, "", false, false
	if q.ID == "" {
		q.ID = "explain"
	}
	_, err := acquire(q)
	if err == nil {
		e.Granted = true
		return nil
	}
	if !errors.As(err, &e.Denied) || e.Denied.Reason == ReasonUnavailable {
		return err
	}
	return nil
}
