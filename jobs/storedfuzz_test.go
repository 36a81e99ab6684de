package jobs

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// FuzzStored: a result comes back as it was stored, alone and folded with others, and
// bytes that nobody stored are refused or give what can be stored again.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"id":"a"}`), uint8(Done), uint8(3))
	f.Add([]byte(`{"id":"`+strings.Repeat("é", packFrom)+`"}`), uint8(Failed), uint8(255))
	f.Add([]byte("{"), uint8(0), uint8(0))
	f.Add(append([]byte(strings.Repeat("s", stampLen)+strings.Repeat("\x41", rowsPerFold)), zstdMagic...), uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, state, place uint8) {
		line := append([]byte{'{'}, raw...) // as all lines begin
		s, got, err := unpack(string(pack(State(state), line)))
		if err != nil || s != State(state) || !bytes.Equal(got, line) {
			t.Errorf("%q of state %d came back as %q of %d, %v", line, state, got, s, err)
		}
		if _, got, err = unpack(string(raw)); err == nil && len(got) == 0 {
			t.Errorf("%q: an empty line", raw)
		}
		one := &chunk{lines: make([][]byte, rowsPerFold)}
		one.set(int(place), State(state&stateBits), line)
		one.set(int(place^1), Done, []byte{})
		checkChunk(t, string(one.encode(newTestFolder())), one.flags, int(place), line)
		if c, err := readChunk(string(raw)); err == nil && c.open() == nil {
			again, err := readChunk(string(c.encode(newTestFolder())))
			if err != nil || again.open() != nil || again.flags != c.flags || !slices.EqualFunc(again.lines, c.lines, bytes.Equal) {
				t.Errorf("%q does not come back", raw)
			}
		}
	})
}

var newTestFolder = sync.OnceValue(newFolder)

func checkChunk(t *testing.T, stored string, flags [rowsPerFold]byte, place int, line []byte) {
	t.Helper()
	c, err := readChunk(stored)
	if err != nil || c.open() != nil || c.flags != flags || !bytes.Equal(c.lines[place], line) || len(c.lines[place^1]) > 0 {
		t.Errorf("%q at %d does not come back (%v)", line, place, err)
	}
	if c, err := readChunk(stored[:len(stored)-1]); err == nil && c.open() == nil {
		t.Errorf("%q: a chunk that was cut is read", line)
	}
}

// FuzzCSVOut: a cell comes back from a file as it was, in any order of cells; what a
// spreadsheet would run does not begin a cell.
func FuzzCSVOut(f *testing.F) {
	f.Add("=1+1", "Grün\r\nTee", true)
	f.Add("", "\"", false)
	f.Add("-5", "＝cmd", true)
	f.Add("a\rb", " \t=", true)
	f.Add("+1e5,3", "\ufeff=1", true)
	f.Fuzz(func(t *testing.T, a, b string, safe bool) {
		if !utf8.ValidString(a + b) {
			return // no such text comes out of JSON
		}
		var out bytes.Buffer
		w, err := NewCSVWriter(&out, CSVWriterOptions{ExcelSafe: safe})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Header([]string{"a", "b"}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write("1", []string{a, b}), w.Write("2", []string{b, a}), w.Close()); err != nil {
			t.Fatal(err)
		}
		c := newCSVReader(strings.NewReader(strings.TrimPrefix(out.String(), "\ufeff")), ',', 1<<20)
		if bad := c.readHeader(); len(bad) > 0 {
			t.Fatalf("%+v", bad)
		}
		for _, want := range [][]string{{a, b}, {b, a}} {
			c.window.begin(c.r.InputOffset())
			cells, err := c.r.Read()
			if err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
			for i, cell := range restoreCRs(cells) {
				checkCell(t, cell, want[i], safe)
			}
		}
	})
}

func checkCell(t *testing.T, cell, want string, safe bool) {
	t.Helper()
	if safe && cell != "" && strings.ContainsRune("=@＝＠\t\r", firstRune(cell)) {
		t.Errorf("%q is written %q", want, cell)
	}
	if safe && cell != want {
		cell = strings.TrimPrefix(cell, "'")
	}
	if cell != want {
		t.Errorf("%q came back as %q", want, cell)
	}
}

// FuzzWords: what people write for a brake, and what we write for a task, is read as it
// was written.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"fail=20%/200,same=50", "off", "", "same=1", "fail=0.00001%/10", "fail=99.99999%/10", "fail=NaN%/1", " same=3 , fail=1e1%/10000", "run-00000001-2", "a-b-1-2", "-1-1", "r--1-0", "r-1-99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := ParseHalt(text); err == nil {
			if again, err := ParseHalt(h.String()); err != nil || again != h {
				t.Errorf("%q is %+v, written %q, and that %+v, %v", text, h, h, again, err)
			}
		} else if !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v", text, err)
		}
		task, err := ParseTaskID(text)
		if err != nil {
			return
		}
		if again, err := ParseTaskID(task.ID()); err != nil || again != task {
			t.Errorf("%q is %+v, written %q, and that %+v, %v", text, task, task.ID(), again, err)
		}
	})
}
