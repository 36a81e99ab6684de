package gemini

import (
	"net/http"

	"nightshift/limiter"
)

// spare gives another answer for a call that has its permit while money runs
// short, and gives the permit back. Nil: the call goes out.
func (c *call) spare(req *http.Request) *http.Response {
	p := c.obs.Permit
	if p == nil || p.Soft == "" || !c.mayDegrade() {
		return nil
	}
	resp := c.degrade(req, CauseSoftSpend)
	if resp != nil {
		c.ended.Do(func() {
			c.settle(limiter.Released, limiter.Amounts{})
			c.record(nil)
		})
	}
	return resp
}
