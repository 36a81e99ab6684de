package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// PurgeOptions are the choices of a purge.
type PurgeOptions struct {
	Drained bool // remove drained files too; a *DrainedElsewhereError when they are not to be seen, and nothing is removed
}

// PurgeReport says what a purge removed.
type PurgeReport struct {
	Rows  int64  // of the run
	Kept  string // directory of drained results that stays, on the host that wrote it; "" when there is none
	Files int    // drained files that were removed
}

// Purge removes a run: its record, ledger, fields, results and the tasks that
// no worker holds. What a handler still brings is refused from then on.
func (s *Store) Purge(ctx context.Context, run string, o PurgeOptions) (PurgeReport, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return PurgeReport{}, err
	}
	r := PurgeReport{Rows: m.Rows}
	dir, err := s.purgeDir(m, o, &r)
	if err != nil {
		return r, err
	}
	if _, err := s.Cancel(ctx, run); err != nil {
		return r, err
	}
	if err := errors.Join(s.keepName(ctx, m.Run), s.forgetName(ctx, run)); err != nil {
		return r, err
	}
	if err := errors.Join(s.Unwatch(ctx, run), s.rdb.ZRem(ctx, keyRuns, run).Err()); err != nil {
		return r, err
	}
	if err := inBatches(append(m.keys(), m.single()...), 100, func(batch []string) error { return s.rdb.Unlink(ctx, batch...).Err() }); err != nil {
		return r, err
	}
	if dir != "" {
		if r.Files, err = removeParts(dir); err != nil {
			return r, fmt.Errorf("purge %s: %w", m.Title(), err)
		}
	}
	// The record goes last: a purge that was cut off can be made again.
	return r, s.rdb.Unlink(ctx, runKey(run)).Err()
}

// purgeDir gives the directory that is to be removed, "" for none, and notes one
// that stays.
func (s *Store) purgeDir(m meta, o PurgeOptions, r *PurgeReport) (string, error) {
	dir, err := s.drainedDir(m)
	if o.Drained {
		return dir, err
	}
	var elsewhere *DrainedElsewhereError
	if errors.As(err, &elsewhere) {
		r.Kept = elsewhere.Host + ":" + elsewhere.Dir
		return "", nil
	}
	r.Kept = dir
	return "", err
}

// namesKept is of how many purged runs the names are known.
const namesKept = 5000

// keepName remembers what people called a run: its money is told of longer than it is
// kept.
func (s *Store) keepName(ctx context.Context, r Run) error {
	if r.Spec.Name == "" {
		return nil
	}
	p := s.rdb.TxPipeline()
	p.ZAdd(ctx, keyPurged, redis.Z{Score: float64(s.now().UnixMilli()), Member: r.ID + "\x00" + r.Spec.Name})
	p.ZRemRangeByRank(ctx, keyPurged, 0, -namesKept-1)
	_, err := p.Exec(ctx)
	return err
}

// PurgedNames gives the names of the runs that were purged last, by their ids.
func (s *Store) PurgedNames(ctx context.Context) (map[string]string, error) {
	list, err := s.rdb.ZRange(ctx, keyPurged, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("names of purged runs: %w", err)
	}
	out := make(map[string]string, len(list))
	for _, one := range list {
		id, name, _ := strings.Cut(one, "\x00")
		out[id] = name
	}
	return out, nil
}

func (s *Store) forgetName(ctx context.Context, run string) error {
	names, err := s.rdb.HGetAll(ctx, keyNames).Result()
	if err != nil {
		return err
	}
	for name, id := range names {
		if id == run {
			return s.rdb.HDel(ctx, keyNames, name).Err()
		}
	}
	return nil
}

// single are the keys of a run that there is one of, but for its record.
func (m meta) single() []string {
	return []string{countKey(m.ID), endKey(m.ID), draftKey(m.ID), brakeKey(m.ID), goodKey(m.ID), takingKey(m.ID), fileKey(m.ID), waitsKey(m.ID), pickKey(m.ID), mendedKey(m.ID)}
}

// keys are those of a run that there are several of.
func (m meta) keys() []string {
	prefix := runPrefix(m.ID)
	var keys []string
	add := func(kind string, n int64) {
		for i := range n {
			keys = append(keys, fmt.Sprintf("%s%s:%d", prefix, kind, i))
		}
	}
	add("row", m.next/rowsPerChunk+1)
	add("fld", m.next/rowsPerBucket+1)
	add("at", m.next/rowsPerChunk+1)
	add("res", m.next/rowsPerBucket+1)
	add("fold", m.next/rowsPerFold+1)
	add("wait", m.next/rowsPerWait+1)
	add("id", m.shards)
	return keys
}
