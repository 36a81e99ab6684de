package sim

import (
	"time"

	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// direct asks nobody: the provider alone says no.
type direct struct {
	n       *night
	retries bool // rows too, as an SDK does
}

func (d *direct) begin(n *night) { d.n = n }
func (d *direct) looks() int     { return 0 }
func (d *direct) ask(*call) pass { return pass{ok: true} }

func (d *direct) met(c *call, m geminitest.Met, _ gemini.Verdict) fate {
	if m.Good || c.row == nil {
		return fate{}
	}
	return d.n.sdk(c.row, d.retries)
}

// sdk is what a plain client does with a row that was refused: pauses of 1 s, twice as much
// each time, up to a minute, without end.
func (n *night) sdk(r *row, retries bool) fate {
	if !retries {
		return fate{ends: true}
	}
	pause := min(time.Minute, time.Second<<min(r.looks, 6))
	return fate{wait: pause + time.Duration(n.chance.Int64N(int64(time.Second)))}
}
