package scheduler

import "context"

// PauseQueue pauses one queue for a person: what the pause button of a dashboard
// does.
func (c *Control) PauseQueue(ctx context.Context, queue, by string) error {
	t, err := c.queueTarget(ctx, queue)
	if err != nil {
		return err
	}
	_, err = c.Pause(ctx, PauseRequest{Target: t, Reason: ReasonOperator, Owner: by})
	return err
}

// ResumeQueue resumes one queue for a person: what the resume button of a
// dashboard does. While another reason closes the queue the error is a
// *HeldError.
func (c *Control) ResumeQueue(ctx context.Context, queue, by string) error {
	t, err := c.queueTarget(ctx, queue)
	if err != nil {
		return err
	}
	e, err := c.Resume(ctx, t, ResumeRequest{By: by})
	if err == nil {
		err = stillHeld(t, e.Still) // the button says "resume", and the queue stays closed
	}
	return err
}

func (c *Control) queueTarget(ctx context.Context, queue string) (Target, error) {
	t, ok, err := c.queueNamed(ctx, queue)
	if err == nil && !ok {
		err = c.noTarget(queue)
	}
	return t, err
}
