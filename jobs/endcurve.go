package jobs

import (
	"context"
	"encoding/json"
	"time"
)

// EndPoint says how many rows of a run had ended at a moment, and how. A row that was
// asked again is in it where it ended last.
type EndPoint struct {
	At    time.Time
	Ended int64
	By    Counts // Ended by state
}

// EndCurve is how the rows of a run came to their ends: at most so many points, evenly
// spread over the rows, the last of which is the last row. It reads as many results,
// however many rows there are. Rows that ended without a call have no time and are not
// in it.
func (s *Store) EndCurve(ctx context.Context, run string, points int) ([]EndPoint, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return nil, err
	}
	var indexes []int64
	states := make([]State, m.next)
	err = s.eachState(ctx, m, func(r rowState) {
		if r.State.Terminal() && r.State != Cancelled {
			indexes, states[r.Index] = append(indexes, r.Index), r.State
		}
	})
	if err == nil {
		indexes, err = s.asCompleted(ctx, m, indexes)
	}
	if err != nil || len(indexes) == 0 {
		return nil, err
	}
	st := s.stored(m)
	defer st.close()
	sample, ended := sampled(indexes, states, points)
	var out []EndPoint
	var last time.Time
	err = inBatches(sample, 256, func(batch []int64) error {
		rows, err := st.fetch(ctx, batch)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if end := row.finished(); end.After(last) {
				p := ended[row.Index]
				p.At = end
				out, last = append(out, p), end
			}
		}
		return nil
	})
	return out, err
}

// sampled are some of the rows in the order of their ends, and how many had ended with each.
func sampled(indexes []int64, states []State, points int) (sample []int64, ended map[int64]EndPoint) {
	ended = map[int64]EndPoint{}
	var by Counts
	i := 0
	for _, n := range spread(len(indexes), points) {
		for ; i <= n; i++ {
			by[states[indexes[i]]]++
		}
		sample = append(sample, indexes[n])
		ended[indexes[n]] = EndPoint{Ended: int64(i), By: by}
	}
	return sample, ended
}

// spread gives so many of n places, the last always.
func spread(n, points int) (out []int) {
	points = max(1, min(n, points))
	for i := 1; i <= points; i++ {
		out = append(out, i*n/points-1)
	}
	return out
}

// finished is when the row ended; zero where that is not known.
func (r fetched) finished() time.Time {
	line, err := r.line()
	if err != nil || line == nil {
		return time.Time{}
	}
	var end struct {
		Finished time.Time `json:"finished_at"`
	}
	if json.Unmarshal(line, &end) != nil {
		return time.Time{}
	}
	return end.Finished
}
