package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// writePart writes a drained file anew: of each chunk what its frame has and,
// for the other rows, what the file has had. It gives how many results the file
// did not have before.
func writePart(dir string, n int64, chunks []*chunk) (rows int64, _ error) {
	path := filepath.Join(dir, partName(n))
	old, err := openPart(path)
	if err != nil {
		return 0, err
	}
	defer old.close()
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when it was renamed
	size := 0
	for i, c := range chunks {
		b, k, err := c.member(n*foldsPerPart+int64(i), old)
		if err == nil {
			_, err = tmp.Write(b)
		}
		if err != nil {
			return 0, errors.Join(fmt.Errorf("%s: %w", path, err), tmp.Close())
		}
		rows += k
		size += len(b)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return 0, err
	}
	if err := replacePart(path, tmp.Name(), size); err != nil {
		return 0, err
	}
	return rows, syncDir(dir)
}

// replacePart puts the new file in the place of the old one. One without results
// would be no gzip file.
func replacePart(path, tmp string, size int) error {
	if size > 0 {
		return os.Rename(tmp, path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// member is the chunk as the file is to have it; nil for one without results.
// Fresh is how many of them no file had.
func (c *chunk) member(n int64, old *part) (b []byte, fresh int64, _ error) {
	if !c.fresh() {
		if c.inFiles() == 0 {
			return nil, 0, nil
		}
		b, err := old.raw(n)
		if b == nil && err == nil {
			err = errPart
		}
		return b, 0, err
	}
	had, err := old.lines(n)
	if err != nil {
		return nil, 0, err
	}
	var lines [][]byte
	for i, f := range c.flags {
		line := had[n*rowsPerFold+int64(i)]
		switch {
		case f&inFrame != 0:
			line = c.lines[i]
			if f&inFiles == 0 {
				fresh++
			}
		case f&inFiles == 0, f == inFiles:
			continue
		case line == nil:
			return nil, 0, errPart
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, 0, nil
	}
	b, err = encodeMember(n, lines)
	return b, fresh, err
}

// inFiles is how many of the chunk's results are in files.
func (c *chunk) inFiles() int64 {
	var n int64
	for _, f := range c.flags {
		if f&inFiles != 0 && f != inFiles {
			n++
		}
	}
	return n
}

// list brings the manifest up to date with the files. Without a change it is
// left alone.
func (m *Manifest) list(dir string, now time.Time, changed bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	had := m.Rows
	m.Parts, m.Rows = nil, 0
	for _, e := range entries {
		var n int64
		if k, err := fmt.Sscanf(e.Name(), "part-%d.jsonl.gz", &n); err != nil || k != 1 || e.Name() != partName(n-1) {
			continue
		}
		p, err := listPart(dir, n-1)
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, p)
		m.Rows += p.Rows
	}
	if !changed && m.Rows == had {
		return nil
	}
	m.Updated = now
	return m.write(dir)
}

func listPart(dir string, n int64) (ManifestPart, error) {
	p := ManifestPart{File: partName(n), First: n * foldsPerPart * rowsPerFold, Last: (n+1)*foldsPerPart*rowsPerFold - 1}
	f, err := openPart(filepath.Join(dir, p.File))
	if err != nil {
		return p, err
	}
	defer f.close()
	for _, m := range f.sections {
		p.Rows += m.rows
		p.Bytes += m.size
	}
	return p, nil
}

// lockDir keeps two processes from writing a run's files at once.
func lockDir(dir string) (unlock func(), _ error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is being written by another process: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}

// removeParts removes a run's drained files and its directory, what a killed
// process left included, and says how many files of results that were.
func removeParts(dir string) (files int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	// The manifest, by which the directory is known, goes last.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(slices.Index([]string{manifestName}, a.Name()), slices.Index([]string{manifestName}, b.Name()))
	})
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasPrefix(name, "part-") && strings.HasSuffix(name, ".jsonl.gz")
		if !ours && name != manifestName && name != ".lock" && !strings.HasPrefix(name, ".tmp-") {
			continue // not ours to remove
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return files, err
		}
		if ours {
			files++
		}
	}
	_ = os.Remove(dir) // stays when others put files there
	return files, nil
}
