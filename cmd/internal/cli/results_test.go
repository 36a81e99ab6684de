package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A results file is replaced by a rename; what is no plain file must survive it.
func TestFileBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.jsonl"), filepath.Join(dir, "link.jsonl")
	if err := os.WriteFile(real, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(real) // the temporary directory may be behind a link itself
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		target  string
		regular bool
	}{
		real:                          {resolved, true},
		link:                          {resolved, true},
		filepath.Join(dir, "new"):     {filepath.Join(dir, "new"), true},
		os.DevNull:                    {os.DevNull, false},
		dir:                           {filepath.Dir(resolved), false},
		filepath.Join(dir, "no", "x"): {filepath.Join(dir, "no", "x"), true},
	} {
		if target, regular := fileBehind(path); target != want.target || regular != want.regular {
			t.Errorf("fileBehind(%s) = %s, %v, want %+v", path, target, regular, want)
		}
	}
}
