package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// DrainReport says what a drain did.
type DrainReport struct {
	Dir   string // of the run: it has part-00001.jsonl.gz and on, and manifest.json
	Rows  int64  // results that were in no file before, or were written anew
	Parts int    // files that were written
	Total int64  // results in all files now
}

// Drain writes a run's folded results to <dir>/<run>/part-00001.jsonl.gz and on,
// each file synced and renamed into place, and marks in Redis what is there.
// Each row has one line: one that was done again replaces its older one. After a
// crash or an error the same call does the rest. What is in Redis stays there:
// see Trim. The results of one run are drained to one directory; with another
// one the error is a *DrainedElsewhereError.
func (s *Store) Drain(ctx context.Context, run, dir string) (DrainReport, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return DrainReport{}, err
	}
	dir, err = filepath.Abs(filepath.Join(dir, m.ID))
	if err != nil {
		return DrainReport{}, err
	}
	r := DrainReport{Dir: dir}
	if m.drained == "" {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return r, err
	}
	have, err := s.claimDrained(ctx, m, dir)
	if err != nil {
		return r, err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return r, err
	}
	defer unlock()
	if _, err := s.Fold(ctx, run); err != nil {
		return r, err
	}
	return r, s.drainParts(ctx, m, have, &r)
}

// drainParts writes the files that lack something, then the manifest.
func (s *Store) drainParts(ctx context.Context, m meta, have Manifest, r *DrainReport) error {
	// Rows may have come since m was read; they are drained next time.
	for n := int64(0); n*foldsPerPart*rowsPerFold < m.next; n++ {
		chunks, err := s.heads(ctx, m.ID, n*foldsPerPart, foldsPerPart)
		if err != nil {
			return err
		}
		if err := s.drainPart(ctx, m, n, chunks, r); err != nil {
			return fmt.Errorf("drain %s: %w", m.Title(), err)
		}
	}
	have.Name = m.Spec.Name
	err := have.list(r.Dir, s.now().UTC(), r.Parts > 0)
	r.Total = have.Rows
	return err
}

// drainPart writes a file when one of its chunks has something new.
func (s *Store) drainPart(ctx context.Context, m meta, n int64, heads []*chunk, r *DrainReport) error {
	stale := false
	for _, c := range heads {
		stale = stale || c.fresh()
	}
	if !stale {
		return nil
	}
	chunks := make([]*chunk, len(heads))
	for i := range heads {
		c, err := s.loadChunk(ctx, m.ID, n*foldsPerPart+int64(i), heads[i])
		if err != nil {
			return err
		}
		chunks[i] = c
	}
	rows, err := writePart(r.Dir, n, chunks)
	if err != nil {
		return err
	}
	r.Parts++
	r.Rows += rows
	for i, c := range chunks {
		if c.fresh() {
			c.drained()
			if _, err := s.mark(ctx, m.ID, n*foldsPerPart+int64(i), c, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadChunk reads the whole of a chunk that has results in its frame; of others
// the head is all.
func (s *Store) loadChunk(ctx context.Context, run string, n int64, head *chunk) (*chunk, error) {
	if !head.framed() {
		return head, nil
	}
	v, err := s.rdb.Get(ctx, foldKey(run, n)).Result()
	if err != nil {
		return nil, err
	}
	c, err := readChunk(v)
	if err != nil {
		return nil, err
	}
	return c, c.open()
}

// heads reads chunks without their frames.
func (s *Store) heads(ctx context.Context, run string, first, count int64) ([]*chunk, error) {
	out, err := s.call(ctx, headsScript, []string{runKey(run)}, []any{runPrefix(run), first, count}, int(count))
	if err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	chunks := make([]*chunk, count)
	for i, v := range out {
		if chunks[i], err = readChunk(str(v)); err != nil {
			return nil, err
		}
	}
	return chunks, nil
}

// mark writes a chunk's head, unless it has changed since it was read: then what
// is new is drained next time.
func (s *Store) mark(ctx context.Context, run string, n int64, c *chunk, cut bool) (int64, error) {
	how := "0"
	if cut {
		how = "1"
	}
	return markScript.Run(ctx, s.rdb, []string{runKey(run), foldKey(run, n)}, c.stamp, c.head(), how).Int64()
}

// Trim removes results from Redis that are in drained files, and says how many
// bytes that were. The ledger stays, and so does what was not drained. It needs
// the files: a process that does not see them trims nothing.
func (s *Store) Trim(ctx context.Context, run string) (int64, error) {
	m, err := s.meta(ctx, run)
	if err != nil || m.drained == "" {
		return 0, err
	}
	dir, err := s.drainedDir(m)
	if err != nil {
		return 0, err
	}
	var freed int64
	for n := int64(0); n*foldsPerPart*rowsPerFold < m.next; n++ {
		k, err := s.trimPart(ctx, m, dir, n)
		freed += k
		if err != nil {
			return freed, fmt.Errorf("trim %s: %w", m.Title(), err)
		}
	}
	return freed, nil
}

func (s *Store) trimPart(ctx context.Context, m meta, dir string, n int64) (int64, error) {
	chunks, err := s.heads(ctx, m.ID, n*foldsPerPart, foldsPerPart)
	if err != nil {
		return 0, err
	}
	file, err := openPart(filepath.Join(dir, partName(n)))
	if err != nil {
		return 0, err
	}
	defer file.close()
	var freed int64
	for i, c := range chunks {
		at := n*foldsPerPart + int64(i)
		if !c.framed() || c.fresh() || file.sections[at].rows < c.inFiles() {
			continue
		}
		c.cut()
		k, err := s.mark(ctx, m.ID, at, c, true)
		if err != nil {
			return freed, err
		}
		freed += max(k, 0)
	}
	return freed, nil
}
