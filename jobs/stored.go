package jobs

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// stored reads results of one run wherever they are: in a field of their own, in
// a chunk, in a drained file. It looks in that order, in which they move, so that
// one that moves meanwhile is found. It is for one goroutine.
type stored struct {
	s      *Store
	m      meta
	chunks map[int64]heldChunk
	batch  int    // fetches so far
	files  *parts // nil until a result is there

	passing bool                   // results in files that are not to be seen are passed over, and fetched.away
	unseen  *DrainedElsewhereError // what passing met
}

// heldChunk is a chunk in memory and the fetch that it was read in.
type heldChunk struct {
	*chunk
	batch int
}

// chunksKept bounds the chunks in memory: results are read nearly in order.
const chunksKept = 64

func (s *Store) stored(m meta) *stored { return &stored{s: s, m: m, chunks: map[int64]heldChunk{}} }

func (st *stored) close() {
	if st.files != nil {
		st.files.close()
	}
}

// fields reads rows without looking for results that were folded.
func (st *stored) fields(ctx context.Context, indexes []int64) ([]fetched, error) {
	return st.s.fetch(ctx, st.m.ID, indexes)
}

// fetch reads rows with their results.
func (st *stored) fetch(ctx context.Context, indexes []int64) ([]fetched, error) {
	st.batch++
	rows, err := st.fields(ctx, indexes)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		if r.result != "" || r.hidden || r.State == None {
			continue
		}
		r.result, err = st.find(ctx, r.rowState)
		if r.away = st.passing && errors.As(err, &st.unseen); r.away {
			continue
		}
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// find looks in the row's chunk. One that was read before the row's field was
// may be from before its result was folded.
func (st *stored) find(ctx context.Context, r rowState) (string, error) {
	place := int(r.Index % rowsPerFold)
	c, old, err := st.chunk(ctx, r.Index/rowsPerFold)
	if err == nil && old && c.state(place) != r.State {
		delete(st.chunks, r.Index/rowsPerFold)
		c, _, err = st.chunk(ctx, r.Index/rowsPerFold)
	}
	if err != nil {
		return "", err
	}
	state := c.state(place)
	if state == None || r.State.Terminal() && state != r.State {
		return "", nil
	}
	line, err := st.line(ctx, c, r.Index)
	if err != nil || line == nil {
		return "", err
	}
	return string(append([]byte{byte(state)}, line...)), nil
}

func (st *stored) line(ctx context.Context, c *chunk, index int64) ([]byte, error) {
	place := int(index % rowsPerFold)
	if c.flags[place]&inFrame != 0 {
		err := c.open()
		if err != nil {
			return nil, err
		}
		return c.lines[place], nil
	}
	if st.unseen != nil {
		return nil, st.unseen
	}
	if st.files == nil {
		files, err := st.s.openParts(ctx, st.m.ID)
		if err != nil {
			return nil, err
		}
		st.files = files
	}
	return st.files.line(index)
}

// chunk reads a chunk; old says that it was read before this fetch.
func (st *stored) chunk(ctx context.Context, n int64) (c *chunk, old bool, _ error) {
	if h, ok := st.chunks[n]; ok {
		return h.chunk, h.batch != st.batch, nil
	}
	v, err := st.s.rdb.Get(ctx, foldKey(st.m.ID, n)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, false, err
	}
	if c, err = readChunk(v); err != nil {
		return nil, false, err
	}
	if len(st.chunks) >= chunksKept {
		clear(st.chunks)
	}
	st.chunks[n] = heldChunk{c, st.batch}
	return c, false, nil
}
