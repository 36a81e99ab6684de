package sim

import (
	"errors"
	"time"

	"nightshift/limiter"
)

// Use is what a class used in a stretch of recorded time.
type Use struct {
	At     time.Time
	Class  string
	Used   limiter.Amounts // requests and tokens
	Lasted time.Duration
}

// Borne is how a class would have fared.
type Borne struct {
	Class   string        `json:"class"`
	Calls   int64         `json:"calls"`
	Refused int64         `json:"refused"` // of a class whose callers do not wait so long
	Delayed int64         `json:"delayed"` // of one that can wait
	Longest time.Duration `json:"longest_ns"`
	Never   int64         `json:"never"` // larger than a limit for good
	Left    int64         `json:"left"`  // delayed beyond the end
}

// lump is how finely recorded use is spread: it is known by sums only.
const lump = 2 * time.Second

// delayed is a lump that was delayed.
type delayed struct {
	came time.Time
	used limiter.Amounts
}

// Replay gives what would have become of recorded use of a lane, in the order of time, under
// a configuration: by class, in the order of its table. Callers who wait less than a lump
// lasts are refused at once. Limits of a path's nodes are left aside, since whose use it was
// is not known.
func Replay(c limiter.Config, l limiter.Lane, uses []Use) ([]Borne, error) {
	if len(uses) == 0 {
		return nil, nil
	}
	c.Nodes = nil
	m := limiter.NewModel(c.Scope, uses[0].At)
	if err := m.Configure(ctx, c); err != nil {
		return nil, err
	}
	r := &replay{m: m, lane: l, queues: map[string][]delayed{}, borne: map[string]*Borne{}, waits: map[string]bool{}}
	for _, k := range c.Classes {
		r.borne[k.Name], r.waits[k.Name] = &Borne{Class: k.Name}, k.Tickets || k.MaxWait > lump
	}
	for len(uses) > 0 {
		n := 1
		for n < len(uses) && uses[n].At.Equal(uses[0].At) {
			n++
		}
		if err := r.stretch(uses[:n], c.Classes); err != nil {
			return nil, err
		}
		uses = uses[n:]
	}
	var out []Borne
	for _, k := range c.Classes {
		for _, d := range r.queues[k.Name] {
			r.borne[k.Name].Left += d.used[limiter.Requests]
		}
		if b := r.borne[k.Name]; b.Calls > 0 {
			out = append(out, *b)
		}
	}
	return out, nil
}

type replay struct {
	m      *limiter.Model
	lane   limiter.Lane
	queues map[string][]delayed
	borne  map[string]*Borne
	waits  map[string]bool
	asked  int
}

// stretch plays what was used from one moment on, lump by lump.
func (r *replay) stretch(uses []Use, classes []limiter.Class) error {
	lumps := max(1, int64(uses[0].Lasted/lump))
	for i := range lumps {
		now := uses[0].At.Add(time.Duration(i) * lump)
		r.m.SetNow(now)
		for _, k := range classes {
			if err := r.queued(k.Name, now); err != nil {
				return err
			}
			for _, u := range uses {
				if u.Class == k.Name {
					if err := r.come(k.Name, part(u.Used, i, lumps), now); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// part is the i-th of n parts, which add up to the whole.
func part(a limiter.Amounts, i, n int64) (out limiter.Amounts) {
	for u, x := range a {
		out[u] = x*(i+1)/n - x*i/n
	}
	return out
}

// queued lets those go that were delayed, the first first.
func (r *replay) queued(class string, now time.Time) error {
	for len(r.queues[class]) > 0 {
		d := r.queues[class][0]
		no, err := r.ask(class, d.used)
		if err != nil || no != nil {
			return err
		}
		b := r.borne[class]
		b.Longest = max(b.Longest, now.Sub(d.came))
		r.queues[class] = r.queues[class][1:]
	}
	return nil
}

func (r *replay) come(class string, used limiter.Amounts, now time.Time) error {
	n, b := used[limiter.Requests], r.borne[class]
	if n == 0 {
		return nil
	}
	b.Calls += n
	var no *limiter.Denied
	if len(r.queues[class]) == 0 {
		var err error
		if no, err = r.ask(class, used); err != nil || no == nil {
			return err
		}
	}
	switch {
	case no != nil && no.Permanent && n > 1: // a lump is larger than the limit: its calls need not be
		b.Calls -= n
		half := part(used, 0, 2)
		if err := r.come(class, half, now); err != nil {
			return err
		}
		return r.come(class, part(used, 1, 2), now)
	case no != nil && no.Permanent:
		b.Never += n
	case r.waits[class]:
		b.Delayed += n
		r.queues[class] = append(r.queues[class], delayed{now, used})
	default:
		b.Refused += n
	}
	return nil
}

// ask charges a lump if it fits.
func (r *replay) ask(class string, used limiter.Amounts) (*limiter.Denied, error) {
	r.asked++
	id := itoa(r.asked)
	_, err := r.m.Acquire(ctx, limiter.Request{ID: id, Lane: r.lane, Class: class, Feature: "recorded", Amounts: used})
	var no *limiter.Denied
	if errors.As(err, &no) {
		return no, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, r.m.Settle(ctx, limiter.Settlement{ID: id, Lane: r.lane, Outcome: limiter.Settled, Used: used})
}
