package jobs

import (
	"bytes"
	"context"
	"encoding/hex"
	"math/rand/v2"
)

// Pick gives n rows of an input, chosen by chance and given in their order: the same
// seed chooses the same rows. What it gives stays good until p is closed, and is not
// closed itself.
func (p *Prepared) Pick(ctx context.Context, n int, seed uint64) (*Prepared, error) {
	chosen, at := choose(int64(n), p.Rows, seed), int64(0)
	q := *p
	q.picked, q.keys, q.Rows, q.Bytes = make([]RenderedRow, 0, len(chosen)), nil, 0, 0
	var all sum
	err := p.Each(ctx, func(row RenderedRow) error {
		if at++; !chosen[at-1] {
			return nil
		}
		row.Fields, row.Body = bytes.Clone(row.Fields), bytes.Clone(row.Body)
		q.picked, q.keys = append(q.picked, row), append(q.keys, keyOf(row))
		q.Rows++
		q.Bytes += int64(len(row.Fields))
		all.add(row.ID, row.Key)
		return nil
	})
	q.Inputs = hex.EncodeToString(all[:])
	return &q, err
}

// choose takes n different numbers below of (Floyd's way).
func choose(n, of int64, seed uint64) map[int64]bool {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := map[int64]bool{}
	for top := max(0, of-n); top < of; top++ {
		if k := rng.Int64N(top + 1); !out[k] {
			out[k] = true
		} else {
			out[top] = true
		}
	}
	return out
}

// eachPicked is Each for rows that were picked.
func (p *Prepared) eachPicked(ctx context.Context, fn func(RenderedRow) error) error {
	for _, row := range p.picked {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}
