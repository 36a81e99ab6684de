package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
)

// writers are the commands' ways to write a file of one line.
func writers(text string) map[string]func(path string) error {
	return map[string]func(path string) error{
		"results": func(path string) error {
			return resultsFile{what: "results", kept: "still in Redis"}.write(nil, path, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		},
		"report": func(path string) error { return writeReport(path, "json", sampleReport()) },
		"--invalid": func(path string) error {
			l, err := (&inputFlags{SkipInvalid: true, Invalid: path}).leaveOut(nil)
			if err != nil {
				return err
			}
			return l.keep(l.add(jobs.InvalidRow{Problem: text}))
		},
	}
}

// TestOutputFiles: a link's target is written, a device is written to and stays, also
// when it is full, and a folder that is not there is named.
func TestOutputFiles(t *testing.T) {
	t.Parallel()
	for name, write := range writers("new\n") {
		dir := t.TempDir()
		real, link, ahead := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "ahead")
		if err := errors.Join(os.WriteFile(real, []byte("old\n"), 0o600), os.Symlink("real", link), os.Symlink("next", ahead)); err != nil {
			t.Fatal(err)
		}
		for path, target := range map[string]string{link: real, ahead: filepath.Join(dir, "next")} {
			if err := write(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			st, err := os.Lstat(path)
			if err != nil || st.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s: the link is gone (%v)", name, err)
			}
			if b, err := os.ReadFile(target); err != nil || len(b) < 4 || string(b) == "old\n" {
				t.Errorf("%s: behind the link is %q (%v)", name, b, err)
			}
		}
		full := filepath.Join(dir, "full")
		if err := os.Symlink("/dev/full", full); err != nil {
			t.Fatal(err)
		}
		if err := write(full); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: to a full device: %v", name, err)
		}
		err := write(filepath.Join(dir, "no", "x"))
		if err == nil || !strings.Contains(err.Error(), "no folder "+filepath.Join(dir, "no")) || strings.Contains(err.Error(), "Redis") || strings.Contains(err.Error(), ".nightshift-") {
			t.Errorf("%s: into no folder: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".nightshift-*")); len(left) > 0 {
			t.Errorf("%s leaves %v", name, left)
		}
	}
}
