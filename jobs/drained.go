package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// drainRecord is what Redis knows of a run's drained files.
type drainRecord struct {
	ID   string `json:"id"`   // the manifest has it too: another directory of that name is not it
	Dir  string `json:"dir"`  // of the run
	Host string `json:"host"` //
}

// Manifest is what manifest.json in a run's directory says of the files beside
// it. It is written last, for people and other programs: readers here go by the
// files themselves.
type Manifest struct {
	V       int            `json:"v"` // 1
	ID      string         `json:"id"`
	Run     string         `json:"run"`
	Name    string         `json:"name,omitempty"`
	Rows    int64          `json:"rows"` // lines in all files
	Parts   []ManifestPart `json:"parts"`
	Updated time.Time      `json:"updated"`
}

// ManifestPart is one file.
type ManifestPart struct {
	File  string `json:"file"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	First int64  `json:"first"` // results of rows first to last are in it and in no other
	Last  int64  `json:"last"`
}

const manifestName = "manifest.json"

func readManifest(dir string) (Manifest, error) {
	var m Manifest
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	return m, err
}

func (m Manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, manifestName), append(b, '\n'))
}

// DrainedElsewhereError says that results are in a directory that this process
// does not see.
type DrainedElsewhereError struct {
	Run  string
	Dir  string // of the run, as its host names it
	Host string
}

func (e *DrainedElsewhereError) Error() string {
	return fmt.Sprintf("results of run %s are in %s on host %s, which this process does not see: run this there, or make that directory visible here", e.Run, e.Dir, e.Host)
}

// record is where the run's drained files are; the zero record when there are
// none.
func (m meta) record() (drainRecord, error) {
	var rec drainRecord
	if m.drained == "" {
		return rec, nil
	}
	err := json.Unmarshal([]byte(m.drained), &rec)
	return rec, err
}

// drainedDir finds the directory of a run's drained files: under
// StoreOptions.Drained, or where it was written. "" when nothing was drained.
func (s *Store) drainedDir(m meta) (string, error) {
	rec, err := m.record()
	if err != nil || rec.ID == "" {
		return "", err
	}
	dirs := []string{rec.Dir}
	if s.opts.Drained != "" {
		dirs = []string{filepath.Join(s.opts.Drained, m.ID), rec.Dir}
	}
	for _, dir := range dirs {
		if have, err := readManifest(dir); err == nil && have.ID == rec.ID {
			return dir, nil
		}
	}
	return "", &DrainedElsewhereError{Run: m.Title(), Dir: rec.Dir, Host: rec.Host}
}

// openParts opens a run's drained files for reading. It asks again where they
// are: they may be new.
func (s *Store) openParts(ctx context.Context, run string) (*parts, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return nil, err
	}
	dir, err := s.drainedDir(m)
	if err != nil {
		return nil, err
	}
	return newParts(dir), nil
}

// reload reads a run that was claimed just now. Of one that was purged meanwhile
// the claim is all there is.
func (s *Store) reload(ctx context.Context, m meta) (meta, error) {
	now, err := s.meta(ctx, m.ID)
	if errors.Is(err, ErrNoRun) {
		err = errors.Join(err, s.rdb.Del(ctx, runKey(m.ID)).Err())
	}
	return now, err
}

// claimDrained makes dir the directory of the run's drained files, if there is none,
// and gives its manifest. The manifest comes first: a claim that was cut off is
// made again with the same id.
func (s *Store) claimDrained(ctx context.Context, m meta, dir string) (Manifest, error) {
	have, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) && m.drained == "" {
		have = Manifest{V: 1, ID: rand.Text(), Run: m.ID, Name: m.Spec.Name}
		err = have.write(dir)
	}
	if err != nil && m.drained == "" {
		return have, fmt.Errorf("drain %s: %w", m.Title(), err)
	}
	if m.drained == "" {
		host, _ := os.Hostname()
		rec, err := json.Marshal(drainRecord{ID: have.ID, Dir: dir, Host: host})
		if err != nil {
			return have, err
		}
		if err := s.rdb.HSetNX(ctx, runKey(m.ID), "drained", rec).Err(); err != nil {
			return have, err
		}
		if m, err = s.reload(ctx, m); err != nil {
			return have, err
		}
	}
	rec, err := m.record()
	if err == nil && rec.ID != have.ID {
		err = &DrainedElsewhereError{Run: m.Title(), Dir: rec.Dir, Host: rec.Host}
	}
	return have, err
}
