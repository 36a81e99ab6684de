package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fileFolder is where the files that rows name are: nothing outside of it is read,
// whatever a name or a link says.
type fileFolder struct {
	dir    string
	tokens func(mime string, content []byte) int64
	root   *os.Root // opened at the first file
	known  map[string]Attachment
}

// filesKnown bounds what is remembered of files; a file that was forgotten is read
// again.
const filesKnown = 100_000

// checkFolder refuses a folder that was given and is none, once and not for each row.
func checkFolder(dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{What: fmt.Sprintf("--files %s: there is no such folder", dir), Remedy: "name the folder of the files that rows name; without --files it is the input's own"}
	case err != nil:
		return &Problem{What: fmt.Sprintf("--files %s: it may not be looked into by this user", dir), Remedy: "name a folder that may be read"}
	case !st.IsDir():
		return &Problem{What: fmt.Sprintf("--files %s: it is a file, not a folder", dir), Remedy: "name the folder that the file is in"}
	}
	return nil
}

// folder is that of the input's first file.
func (ss sources) folder() string { return filepath.Dir(ss[0].path) }

// find tells what a file is. It does not keep the content.
func (d *fileFolder) find(path string) (Attachment, error) {
	if a, ok := d.known[path]; ok {
		return a, nil
	}
	a := Attachment{Path: path}
	content, err := d.read(&a)
	if err != nil {
		return a, err
	}
	if err := a.judge(content); err != nil {
		return a, err
	}
	if d.tokens != nil {
		a.Tokens = d.tokens(a.MIME, content)
	}
	if d.known == nil || len(d.known) >= filesKnown {
		d.known = map[string]Attachment{}
	}
	d.known[path] = a
	return a, nil
}

// content reads a file that was found before, and is still the same.
func (d *fileFolder) content(a *Attachment) ([]byte, error) {
	if a.Data != nil {
		return a.Data, nil
	}
	b, err := d.read(a)
	if err != nil {
		return nil, err
	}
	now := *a
	if err := now.judge(b); err != nil {
		return nil, err
	}
	if now.Digest != a.Digest {
		return nil, a.problem("the file was changed while it was being read", "run the command again once nobody writes to it")
	}
	return b, nil
}

func (d *fileFolder) read(a *Attachment) ([]byte, error) {
	if scheme, _, ok := strings.Cut(a.Path, "://"); ok && len(scheme) < 10 {
		return nil, a.problem("an address, which nightshift does not fetch: what is there may change between two calls", "download it, and name the file")
	}
	if d.root == nil {
		root, err := os.OpenRoot(d.dir)
		if err != nil {
			return nil, pathProblem(d.dir, err)
		}
		d.root = root
	}
	name := filepath.FromSlash(a.Path)
	st, err := d.root.Stat(name)
	switch {
	case err != nil:
		return nil, d.explain(a, err)
	case !st.Mode().IsRegular(): // a pipe would never open
		return nil, a.problem("it is no file", "name one file")
	case st.Size() > MaxAttachments:
		return nil, a.tooLarge(st.Size())
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, d.explain(a, err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxAttachments+1))
}

// explain says why a file could not be opened.
func (d *fileFolder) explain(a *Attachment, err error) error {
	where := "files are looked for in " + d.dir + ", the input's folder or that of --files"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return a.problem("no such file", where)
	case errors.Is(err, fs.ErrPermission):
		return a.problem("may not be read by this user", where)
	case !filepath.IsLocal(filepath.FromSlash(a.Path)), strings.Contains(err.Error(), "escapes"):
		return a.problem("it is outside of "+d.dir, "name it relative to the input's folder, or give the folder with --files DIR; a link may not lead out of it either")
	}
	return a.problem(err.Error(), where)
}

func (d *fileFolder) close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}
