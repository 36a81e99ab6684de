package jobs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzInput: an input is taken whole, with rows that all hold what rows must, or it is
// refused with problems that say where and are short enough to read.
func FuzzInput(f *testing.F) {
	for _, content := range []string{
		"id,text\na,x\n", "id\ttext\na\tx", "\xef\xbb\xbfid,text\r\na,\"x\r\ny\"\r\n", "id,id\n1,2\n", "id;text\na;b\n", "1,2\n3,4\n", "id,text\na,\"x\n", "id,text\n\na,b,c\n",
		"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":2}\n", "{\"id\":\"a\"}\n{\"id\":\"a\"}\n", "{\"id\":\"é\",\"x\":]}\n", "{\"id\":\"\\ud800\"}\n", "[{\"id\":\"a\"},\n {\"id\":3,\"n\":[1,\n2]}]", "[{\"id\":1},]", "[1,{}]", "[", "{}", " ",
		"{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}}\n",
		"{\"key\":\"a\",\"request\":{\"contents\":[{\"parts\":[{\"text\":\"hi\"}]}]}}\n", "\xff\xfei\x00d\x00,\x00t\x00\n\x00a\x00,\x00b\x00\n\x00", "PK\x03\x04", "id\ra\r", "\x1f\x8b\x08", "(\xb5/\xfd", "id,a\n1,\xe9\n",
	} {
		for format := range 3 {
			f.Add([]byte(content), uint8(format))
		}
		f.Add([]byte(content), uint8(4+len(content)%3))
	}
	formats := append([]string{""}, Formats...)
	f.Fuzz(func(t *testing.T, content []byte, format uint8) {
		in := Input{Path: file(t, "rows", content), Format: formats[int(format)%len(formats)], MaxRecord: 1 << 12}
		spec := specOf("{{.}}")
		if spec.Lines = linesOf(in.Format); spec.Lines != "" {
			spec.Template = ""
		}
		rows, err := read(t, in, spec)
		if err != nil {
			refusedInput(t, in.Path, content, err)
			return
		}
		seen := map[string]bool{}
		for _, r := range rows {
			var fields map[string]json.RawMessage
			if r.ID == "" || len(r.ID) > maxRowID || seen[r.ID] || r.Line < 1 || r.Line > 1+bytes.Count(content, []byte{'\n'}) && !isUTF16(content) {
				t.Errorf("%q: row %q of line %d", content, r.ID, r.Line)
			}
			if json.Unmarshal(r.Fields, &fields) != nil || !utf8.Valid(r.Fields) || bytes.ContainsAny(r.Fields, "\n\r") {
				t.Errorf("%q: fields %q", content, r.Fields)
			}
			seen[r.ID] = true
		}
		if len(rows) == 0 {
			t.Errorf("%q: taken without a row", content)
		}
	})
}

func refusedInput(t *testing.T, path string, content []byte, err error) {
	t.Helper()
	var bad *InputError
	if !errors.As(err, &bad) {
		t.Fatalf("%q: %v", content, err)
	}
	if n := len(bad.Problems); n == 0 || n > MaxProblems || bad.Total < n || n < MaxProblems && bad.Total != n {
		t.Errorf("%q: %d problems of %d", content, n, bad.Total)
	}
	for i := range bad.Problems {
		p := &bad.Problems[i]
		if p.File != path || p.What == "" || p.Line < 0 || p.Line > 1+bytes.Count(content, []byte{'\n'}) && !isUTF16(content) {
			t.Errorf("%q: %+v", content, p)
		}
		if p.Line > 0 && p.Column > 0 && utf8.Valid(content) {
			if line := bytes.Split(content, []byte{'\n'})[p.Line-1]; p.Column > utf8.RuneCount(line)+1 {
				t.Errorf("%q: column %d of %q", content, p.Column, line)
			}
		}
	}
}

// FuzzCSV compares our reading with encoding/csv's, which makes LF of the CR LF in
// cells, however the bytes come.
func FuzzCSV(f *testing.F) {
	for _, content := range []string{
		"a,b\n1,2\n", "a\r\n\"x\r\ny\"\r\n\"z\rz\"\r\n", "a,b\n\"1\"\",\",\"\"\n", "a\n\"b\"c\n", "a\nb\"c\n", "a,a\n\n\n1,2", "\"a\",b\n\"\n\",\n", "a\n\"", "a\n\r\n\"\r\"\n", "é,ü\n\"\u2028\",\u0085\n",
	} {
		f.Add(content, ',')
		f.Add(strings.ReplaceAll(content, ",", "；"), '；')
	}
	f.Fuzz(func(t *testing.T, content string, comma rune) {
		ref := csv.NewReader(strings.NewReader(content))
		ref.Comma, ref.FieldsPerRecord = comma, -1
		want, err := ref.ReadAll()
		if !utf8.ValidString(content) || err != nil && !errors.As(err, new(*csv.ParseError)) {
			return // no text comes here, and no such delimiter
		}
		whole, good := cellsOf(t, strings.NewReader(content), comma)
		if err == nil && good != (len(want) > 0) {
			t.Fatalf("%q: taken %v, encoding/csv has %d lines", content, good, len(want))
		}
		if err != nil && good {
			t.Fatalf("%q: taken, encoding/csv says %v", content, err)
		}
		pieces, _ := cellsOf(t, iotest.OneByteReader(strings.NewReader(content)), comma)
		if !slices.EqualFunc(whole, pieces, slices.Equal) {
			t.Errorf("%q: %q, byte by byte %q", content, whole, pieces)
		}
		if !good {
			return
		}
		for i := range whole {
			for j := range whole[i] {
				whole[i][j] = strings.ReplaceAll(whole[i][j], "\r\n", "\n")
			}
		}
		if !slices.EqualFunc(whole, want, slices.Equal) {
			t.Errorf("%q: %q, encoding/csv reads %q", content, whole, want)
		}
	})
}

// cellsOf reads as csvReader does, but for what it wants of a header; good is whether all
// of it can be read.
func cellsOf(t *testing.T, r io.Reader, comma rune) (lines [][]string, good bool) {
	t.Helper()
	c := newCSVReader(r, comma, 1<<20)
	for {
		c.window.begin(c.r.InputOffset())
		cells, err := c.r.Read()
		if err == io.EOF {
			return lines, len(lines) > 0
		}
		if err != nil {
			p, _ := c.fault(err)
			if p == nil || p.Line < 1 || p.Column < 1 || p.What == "" {
				t.Fatalf("%v: %+v", err, p)
			}
			return lines, false
		}
		lines = append(lines, slices.Clone(restoreCRs(cells)))
	}
}

// FuzzJSONRows compares our reading of lines and of an array of JSON with encoding/json's.
func FuzzJSONRows(f *testing.F) {
	for _, content := range []string{
		`{"a":1}` + "\n" + `{"b":"x\n"}`, `[{"a":1}, {"b":[1,{"c":"]"}]}]`, "[]", "[{}\n,\n{\n\"a\":\n1}]\n", `[{"a":1},]`, `[{"a":1}`, `[1,"a",null]`, `[{}] x`, `[{"a":"\"}`, "{}\n\n \r\n{}", `{"a":1}{"b":2}`, `[{}{}]`, `[,]`, `[-]`, "[\"\n\"]", "[{\"a\" 1}]",
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if !utf8.Valid(content) {
			return
		}
		buffered := func(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64) }
		got, ok := readRows(newArrayReader(buffered(bytes.NewReader(content)), 1<<20))
		pieces, okPieces := readRows(newArrayReader(buffered(iotest.OneByteReader(bytes.NewReader(content))), 1<<20))
		if ok != okPieces || !slices.Equal(got, pieces) {
			t.Errorf("%q: %q %v, byte by byte %q %v", content, got, ok, pieces, okPieces)
		}
		checkArray(t, content, got, ok)
		got, ok = readRows(newJSONLReader(iotest.HalfReader(bytes.NewReader(content)), 1<<20))
		checkLines(t, content, got, ok)
	})
}

func checkArray(t *testing.T, content []byte, got []string, ok bool) {
	t.Helper()
	var all []json.RawMessage
	valid := json.Unmarshal(content, &all) == nil && all != nil
	if ok != valid {
		t.Fatalf("%q: taken %v, encoding/json %v", content, ok, valid)
	}
	for i, raw := range all {
		var one bytes.Buffer
		if json.Compact(&one, raw) != nil || compacted(got[i]) != one.String() {
			t.Errorf("%q: element %d is %q", content, i+1, got[i])
		}
	}
}

// checkLines: each line is an object as encoding/json sees it, and stands in its place.
func checkLines(t *testing.T, content []byte, got []string, ok bool) {
	t.Helper()
	var want []string
	valid := true
	for line := range bytes.SplitSeq(content, []byte{'\n'}) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			valid = valid && line[0] == '{' && json.Valid(line)
			want = append(want, string(line))
		}
	}
	if ok != valid || valid && !slices.Equal(got, want) {
		t.Errorf("%q: %q %v, want %q %v", content, got, ok, want, valid)
	}
}

func compacted(s string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		return err.Error()
	}
	return b.String()
}

// readRows gives all records of a reader; ok is whether nothing was wrong.
func readRows(r rowReader) (got []string, ok bool) {
	_, arrays := r.(*arrayReader) // whose elements may be anything here
	ok = true
	for {
		rec, p, err := r.next()
		if errors.Is(err, io.EOF) {
			return got, ok
		}
		if err != nil {
			return got, false
		}
		ok = ok && (p == nil || arrays && strings.Contains(p.What, "not an object"))
		text := rec.object
		if p != nil {
			text = rec.raw
		}
		got = append(got, string(text))
	}
}

// TestColumnsAreCharacters: a fault's column is where an editor shows it.
func TestColumnsAreCharacters(t *testing.T) {
	t.Parallel()
	content := "{\"id\":1}\n  {\"é\":]}\n"
	_, err := read(t, Input{Path: file(t, "r.jsonl", []byte(content))}, specOf("{{.}}"))
	var bad *InputError
	if !errors.As(err, &bad) || bad.Problems[0].Line != 2 || bad.Problems[0].Column != 8 {
		t.Errorf("%v", err)
	}
}
