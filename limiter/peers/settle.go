package main

import (
	"context"
	"fmt"
	"time"
)

const hundred = 100

// trial is a peer with a limit of 100 a minute at a moment of its clock; the
// first error ends it.
type trial struct {
	ctx context.Context
	peer
	at  time.Time
	err error
}

func (x *trial) take(n int64) grant {
	if x.err != nil {
		return grant{}
	}
	g, err := x.peer.take(x.ctx, x.at, n)
	x.err = err
	return g
}

func (x *trial) use(g grant, used int64) {
	if x.err == nil {
		x.err = x.correct(x.ctx, x.at, g, used)
	}
}

// settlementCase is one of the five ways in which a settlement goes wrong; right
// tells whether the peer does it as the provider's own count would have it.
type settlementCase struct {
	name  string
	right func(x *trial) bool
}

var settlements = []settlementCase{
	{"full refund at once", func(x *trial) bool {
		g := x.take(hundred)
		x.use(g, 0)
		return g.ok && x.take(hundred).ok && !x.take(1).ok
	}},
	{"refund larger than taken", func(x *trial) bool {
		others := x.take(60)
		g := x.take(10)
		for range 3 { // the same refund, told three times
			x.use(g, 0)
		}
		return others.ok && g.ok && !x.take(41).ok && x.take(40).ok
	}},
	{"overage larger than what is left", func(x *trial) bool {
		g := x.take(90)
		x.use(g, 130)
		x.at = x.at.Add(5 * time.Second)
		return g.ok && !x.take(1).ok
	}},
	{"refund after the window turned", func(x *trial) bool {
		g := x.take(50)
		x.at = x.at.Add(70 * time.Second)
		full := x.take(hundred)
		x.use(g, 0)
		return g.ok && full.ok && !x.take(1).ok
	}},
	{"request larger than the limit", func(x *trial) bool {
		g := x.take(hundred + 1)
		return !g.ok && g.never && x.take(hundred).ok
	}},
}

// settleRow is a line of the table of settlements.
type settleRow struct {
	name  string
	right []bool
}

func (h *harness) settling(ctx context.Context) ([]settleRow, error) {
	var rows []settleRow
	for _, e := range h.field() {
		row := settleRow{name: e.name}
		for _, c := range settlements {
			p, err := e.make(hundred)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			x := &trial{ctx: ctx, peer: p, at: noon}
			row.right = append(row.right, c.right(x))
			p.close()
			if x.err != nil {
				return nil, fmt.Errorf("%s: %s: %w", e.name, c.name, x.err)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func printSettling(t *table, rows []settleRow) {
	names := []string{"limiter"}
	for _, c := range settlements {
		names = append(names, c.name)
	}
	t.head("Settlements that are right", names...)
	for _, r := range rows {
		cells := []string{r.name}
		for _, ok := range r.right {
			cells = append(cells, map[bool]string{true: "right", false: "wrong"}[ok])
		}
		t.row(cells...)
	}
}
