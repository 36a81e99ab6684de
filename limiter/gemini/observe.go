package gemini

import (
	"errors"

	"nightshift/limiter"
)

// observe passes a call that nothing may refuse. What would have refused it is
// in the observation; without an answer of the shared state the call goes out
// uncounted there. Only a caller that has hung up is an error.
func (c *call) observe(refusal error) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.obs.Over == "" {
		c.obs.Over = overOf(refusal)
	}
	return nil
}

// overOf names a refusal as limiter.Permit.Over does. That the shared state is
// away is no refusal of the rules.
func overOf(refusal error) string {
	var d *limiter.Denied
	switch {
	case refusal == nil:
		return ""
	case !errors.As(refusal, &d):
		return "not_configured"
	case d.Reason == limiter.ReasonUnavailable:
		return ""
	case d.Reason == limiter.ReasonTooLarge || d.Limiter == "":
		return string(d.Reason)
	}
	return d.Limiter
}
