package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Spool keeps results that Redis refused in a folder of this machine, until
// Redis takes them. It is safe for concurrent use by one process.
type Spool struct {
	dir string

	mu    sync.Mutex
	tasks map[string]Task // of what is in the folder, by task id
}

const spoolSuffix = ".result.json"

// OpenSpool opens or creates the folder and looks what is there.
func OpenSpool(dir string) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	sp := &Spool{dir: dir, tasks: map[string]Task{}}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), spoolSuffix); ok {
			if t, err := ParseTaskID(id); err == nil {
				sp.tasks[id] = t
			}
		}
	}
	return sp, nil
}

func (sp *Spool) path(t Task) string { return filepath.Join(sp.dir, t.ID()+spoolSuffix) }

// Put keeps a result; it is on disk, whole, when Put returns.
func (sp *Spool) Put(t Task, r Result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := writeWhole(sp.path(t), b); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.tasks[t.ID()] = t
	return nil
}

// writeWhole makes a file of mode 0600 appear with all of its content or not at
// all.
func writeWhole(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !isNoSync(err) {
		return err
	}
	return nil
}

// Len is the number of results that wait.
func (sp *Spool) Len() int {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return len(sp.tasks)
}

// Get gives a result that is still here. A handler looks before it calls: the
// answer may have been paid for already.
func (sp *Spool) Get(t Task) (Result, bool) {
	sp.mu.Lock()
	_, here := sp.tasks[t.ID()]
	sp.mu.Unlock()
	if !here {
		return Result{}, false
	}
	r, err := sp.read(t)
	return r, err == nil
}

func (sp *Spool) read(t Task) (Result, error) {
	var r Result
	b, err := os.ReadFile(sp.path(t))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// Drop forgets a result that was stored.
func (sp *Spool) Drop(t Task) error {
	sp.mu.Lock()
	delete(sp.tasks, t.ID())
	sp.mu.Unlock()
	if err := os.Remove(sp.path(t)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Deliver finishes what it can in the store, until Redis refuses again, and
// says how many results are left. A result that is no longer wanted (the row
// has its end) is dropped.
func (sp *Spool) Deliver(ctx context.Context, s *Store) (left int, err error) {
	sp.mu.Lock()
	tasks := make([]Task, 0, len(sp.tasks))
	for _, t := range sp.tasks {
		tasks = append(tasks, t)
	}
	sp.mu.Unlock()
	for _, t := range tasks {
		if err := sp.deliver(ctx, s, t); err != nil {
			return sp.Len(), err
		}
	}
	return sp.Len(), nil
}

func (sp *Spool) deliver(ctx context.Context, s *Store, t Task) error {
	r, err := sp.read(t)
	if errors.Is(err, fs.ErrNotExist) {
		return sp.Drop(t)
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if _, err := s.Finish(ctx, t, r); err != nil {
		return err
	}
	return sp.Drop(t)
}
