package sim

import (
	"time"

	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// What a caller's SDK does with a refusal: google.golang.org/genai's default is five tries
// with pauses of 1, 2, 4 and 8 s and up to a second more.
const (
	personTries = 5
	personPause = time.Second
)

// visitor is a person and how far they got.
type visitor struct {
	person
	id    string
	tries int // made
}

// visit lets a person call.
func (n *night) visit(p person, i int) {
	v := &visitor{person: p, id: "p" + itoa(i)}
	n.out.came(p)
	n.try(v)
}

// try is one call of a person, from asking on.
func (n *night) try(v *visitor) {
	v.tries++
	c := &call{class: v.from.Class, tenant: v.from.Tenant, input: v.input, output: v.output, id: v.id + "." + itoa(v.tries), began: n.now}
	n.askFor(v, c)
}

func (n *night) askFor(v *visitor, c *call) {
	p := n.policy.ask(c)
	switch {
	case p.ok:
		n.send(c, func(m geminitest.Met, verdict gemini.Verdict) {
			n.policy.met(c, m, verdict)
			n.heard(v, m)
		})
	case p.refused:
		n.out.refusedHere(v, n.now)
		n.failed(v, p.never)
	default:
		n.after(p.again, func() { n.askFor(v, c) })
	}
}

// heard is an answer, good or not.
func (n *night) heard(v *visitor, m geminitest.Met) {
	if m.Good {
		n.took = append(n.took, n.now-v.at)
		return
	}
	n.out.refusedThere(v, m, n.now)
	n.failed(v, m.Status == 400 || m.Status == 403)
}

// failed goes on as the SDK does.
func (n *night) failed(v *visitor, never bool) {
	if v.tries >= personTries || never {
		n.out.People.GaveUp++
		n.took = append(n.took, n.now-v.at)
		return
	}
	pause := personPause<<(v.tries-1) + time.Duration(n.chance.Int64N(int64(time.Second)))
	n.after(pause, func() { n.try(v) })
}
