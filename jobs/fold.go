package jobs

import (
	"context"
	"crypto/sha1" //nolint:gosec // compares with redis.sha1hex, guards nothing
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"
)

// Fold moves results from fields of their own into compressed chunks, where the
// rows beside them have ended too, and says how many. A result is in one of both
// at any moment, and readers look in both. A row that ends once more after that
// has a field of its own again, which counts before the chunk until it is folded
// in its turn.
func (s *Store) Fold(ctx context.Context, run string) (int64, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return 0, err
	}
	ended, err := s.endedChunks(ctx, m)
	if err != nil {
		return 0, err
	}
	loose, err := s.looseBuckets(ctx, m)
	if err != nil {
		return 0, err
	}
	zw := newFolder()
	defer func() { _ = zw.Close() }()
	var folded int64
	for n, ok := range ended {
		if ctx.Err() != nil {
			return folded, ctx.Err()
		}
		if !ok || !loose[n*rowsPerFold/rowsPerBucket] {
			continue
		}
		k, err := s.foldChunk(ctx, m, int64(n), zw)
		if err != nil {
			return folded, fmt.Errorf("fold: %w", err)
		}
		folded += int64(k)
	}
	return folded, nil
}

// endedChunks says of each chunk whether no row of it is open.
func (s *Store) endedChunks(ctx context.Context, m meta) ([]bool, error) {
	ended := make([]bool, (m.next+rowsPerFold-1)/rowsPerFold)
	for i := range ended {
		ended[i] = true
	}
	err := s.eachState(ctx, m, func(r rowState) {
		if n := r.Index / rowsPerFold; !r.State.Terminal() && n < int64(len(ended)) {
			ended[n] = false
		}
	})
	return ended, err
}

// looseBuckets says of each result hash whether there is anything in it.
func (s *Store) looseBuckets(ctx context.Context, m meta) ([]bool, error) {
	var loose []bool
	buckets := m.next/rowsPerBucket + 1
	for from := int64(0); from < buckets; from += 1000 {
		n := min(buckets-from, 1000)
		out, err := s.call(ctx, looseScript, []string{runKey(m.ID)}, []any{runPrefix(m.ID), from, n}, int(n))
		if err != nil {
			return nil, fmt.Errorf("fold: %w", err)
		}
		for _, v := range out {
			loose = append(loose, integer(v) > 0)
		}
	}
	return loose, nil
}

// foldTries is how often a chunk is read again when it changes meanwhile; then
// it is left for the next time.
const foldTries = 3

func (s *Store) foldChunk(ctx context.Context, m meta, n int64, zw *zstd.Encoder) (int, error) {
	for range foldTries {
		c, fields, err := s.unfolded(ctx, m.ID, n)
		if err != nil || len(fields) == 0 {
			return 0, err
		}
		args, err := c.take(fields)
		if err != nil {
			return 0, fmt.Errorf("rows %d and on: %w", n*rowsPerFold, err)
		}
		args = append([]any{c.stamp, c.encode(zw)}, args...)
		ok, err := foldScript.Run(ctx, s.rdb, []string{runKey(m.ID), foldKey(m.ID, n), resKey(m.ID, n*rowsPerFold)}, args...).Bool()
		if err != nil || ok {
			return len(fields), err
		}
	}
	return 0, nil
}

// loose is one result in a field of its own.
type loose struct {
	index int64
	value string
}

// unfolded reads a chunk and the results of its rows that are to go in: not
// those of rows that are open again.
func (s *Store) unfolded(ctx context.Context, run string, n int64) (*chunk, []loose, error) {
	first := n * rowsPerFold
	keys := []string{foldKey(run, n), resKey(run, first), rowKey(run, first/rowsPerChunk)}
	out, err := s.call(ctx, chunkScript, keys, []any{first, rowsPerFold, first % rowsPerChunk * bytesPerRow}, 2+rowsPerFold)
	if err != nil {
		return nil, nil, err
	}
	c, err := readChunk(str(out[0]))
	if err != nil {
		return nil, nil, err
	}
	states := str(out[1])
	var fields []loose
	for i, v := range out[2:] {
		value := str(v)
		if value == "" {
			continue
		}
		if at := i * bytesPerRow; at < len(states) {
			if st := State(states[at]); st != None && !st.Terminal() {
				continue
			}
		}
		fields = append(fields, loose{first + int64(i), value})
	}
	return c, fields, c.open()
}

// take puts fields into the chunk and gives what the script compares them by.
func (c *chunk) take(fields []loose) ([]any, error) {
	args := make([]any, 0, 2*len(fields))
	for _, f := range fields {
		place := int(f.index % rowsPerFold)
		if f.value == noResult {
			c.clear(place)
		} else {
			state, line, err := unpack(f.value)
			if err != nil {
				return nil, err
			}
			c.set(place, state, line)
		}
		sum := sha1.Sum([]byte(f.value)) //nolint:gosec // see the import
		args = append(args, f.index, hex.EncodeToString(sum[:]))
	}
	return args, nil
}

// ResultBytes is what a run's results take in Redis, folded or not, without
// Redis's own overhead.
func (s *Store) ResultBytes(ctx context.Context, run string) (int64, error) {
	n, err := s.rdb.HGet(ctx, runKey(run), "bytes").Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}
