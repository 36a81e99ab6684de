package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// retried writes a file in which a failed, then was made again, by two runs.
func retried(t *testing.T, path string) *FileSink {
	t.Helper()
	f := openSink(t, path)
	put(t, f, result("a", "k", Failed), result("b", "k", Done), result("c", "k", Failed))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openSink(t, path)
	put(t, f, result("c", "k", Failed), result("a", "k", Done))
	return f
}

func tidy(t *testing.T, f *FileSink) {
	t.Helper()
	if err := f.Tidy(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTidyLeavesEachRowItsLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := retried(t, path)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	tidy(t, f)
	wantEqual(t, lines(t, path), "b", "c", "a")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v)", st.Mode(), err)
	}
	f = openSink(t, path)
	defer f.Close()
	if f.Have("a", "k") != Done || f.Have("b", "k") != Done || f.Have("c", "k") != None {
		t.Error("the last lines are not what is left")
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestTidyAfterAKill has what a process that was killed before or in Tidy leaves.
func TestTidyAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	_ = retried(t, path).Close()
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".results.jsonl.tidy"), []byte(`{"id":"a","sta`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, lines(t, path), "a", "b", "c", "c", "a")
	tidy(t, openSink(t, path))
	wantEqual(t, lines(t, path), "b", "c", "a")
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

func TestTidyThroughALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.jsonl"), filepath.Join(dir, "link.jsonl")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	tidy(t, retried(t, link))
	wantEqual(t, lines(t, target), "b", "c", "a")
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v (%v)", st.Mode(), err)
	}
}

// TestTidyWithoutRoomBeside: nothing is lost when the copy cannot be written.
func TestTidyWithoutRoomBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := retried(t, path)
	if err := os.MkdirAll(filepath.Join(filepath.Dir(path), ".results.jsonl.tidy", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Tidy(); err == nil {
		t.Error("no error")
	}
	_ = f.Close()
	wantEqual(t, lines(t, path), "a", "b", "c", "c", "a")
}

// TestTidyLeavesDevicesAlone: a device is not replaced by a file.
func TestTidyLeavesDevicesAlone(t *testing.T) {
	f, err := OpenFileSink(os.DevNull, FileSinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, f, result("a", "k", Failed), result("a", "k", Done))
	if f.untidy() {
		t.Error("the device would be replaced")
	}
	_ = f.Close()
}

// TestRewrittenWhileOpening: a file that another process replaced between our
// opening and locking it would take lines that nobody ever sees.
func TestRewrittenWhileOpening(t *testing.T) {
	path := file(t, "results.jsonl", nil)
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Rename(file(t, "new.jsonl", nil), path); err != nil {
		t.Fatal(err)
	}
	f := &FileSink{path: path, file: old, out: old}
	if err := f.prepare(); err == nil {
		t.Error("a file without a name was taken")
	}
}

// BenchmarkTidy is of 100,000 rows, every tenth of which was tried again.
func BenchmarkTidy(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		f, err := OpenFileSink(filepath.Join(b.TempDir(), "results.jsonl"), FileSinkOptions{})
		if err != nil {
			b.Fatal(err)
		}
		var all []byte
		for i := range 110_000 {
			line, _ := result(fmt.Sprint(i%100_000), "k", Done).Line()
			f.note(fmt.Sprint(i % 100_000))
			all = append(append(all, line...), '\n')
		}
		if err := f.append(all); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := f.Tidy(); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
}
