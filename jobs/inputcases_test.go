package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// The numbers are of cases seen in other tools: what went wrong there must not here.

func TestCase88QuotedNewlinesAreNoRows(t *testing.T) {
	content := "id,text\r\na,\"one\r\n\r\ntwo\"\r\nb,\"three\r\n\r\nfour\"\r\nc,\"five\r\nsix\"\r\n"
	wantEqual(t, prompts(t, "r.csv", content, "{{.text}}"), "a=one\r\n\r\ntwo", "b=three\r\n\r\nfour", "c=five\r\nsix")
}

// TestCase89LineBreaksInCells: they stay what they are, byte for byte, whatever ends
// the lines.
func TestCase89LineBreaksInCells(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		content := "id,\"te\"\"xt\",b" + end + "a,\"x\ry\r\nz\nw\"\"\r\"\"\r\n\",\"\"" + end + "b,,\"\r\"" + end
		wantEqual(t, prompts(t, "r.csv", content, `{{index . "te\"xt"}}|{{.b}}`), "a=x\ry\r\nz\nw\"\r\"\r\n|", "b=|\r")
	}
	rows, err := read(t, Input{Path: file(t, "r.csv", []byte("id；text\r\na；\"x；\r\ny\"\r\n")), Delimiter: '；'}, specOf("{{.text}}"))
	if err != nil || len(rows) != 1 || rows[0].Prompt != "x；\r\ny" {
		t.Errorf("a wide delimiter: %+v (%v)", rows, err)
	}
}

// TestCRKeeper: what is hidden are CRs inside quotes alone, however the text is cut.
func TestCRKeeper(t *testing.T) {
	text := "id,t\r\n\"a\r\",\"x\"\"\r\"\"\r\"\r\nb,5\"\r\nc,\"\"\r\nd,\"\r\n"
	want := "id,t\r\n\"a\xff\",\"x\"\"\xff\"\"\xff\"\r\nb,5\"\r\nc,\"\"\r\nd,\"\xff\n"
	for size := 1; size <= len(text); size++ {
		k, got := crKeeper{comma: ","}, []byte(text)
		for at := 0; at < len(got); at += size {
			k.hide(got[at:min(at+size, len(got))])
		}
		if string(got) != want {
			t.Errorf("pieces of %d:\ngot  %q\nwant %q", size, got, want)
		}
	}
}

func TestCase91And92CSVFaults(t *testing.T) {
	for content, want := range map[string]string{
		"id,text\na,\"Best\" of 2026\n":        "r.csv:2:9: something follows a cell's closing quote\n    " + quoteRemedy,
		"id,text,y\na,\"x\"   ,y\n":            "r.csv:2:6: something follows a cell's closing quote\n    " + quoteRemedy,
		"id,text\na,x\nb,\"y\nc,\"z\"\n":       "r.csv:4:4: something follows the closing quote of a cell that begins in line 3, column 3: it was probably to end earlier\n    " + quoteRemedy,
		"id,text\na,\"一\n二\"\nb,\"三\nc,四\nd\n": "r.csv:4:3: the quote that begins here is not closed\n    close it; if it is a part of the text, put the whole cell in quotes and double it",
		"id,text\na,\"x\r\ny\" z\r\n":          "r.csv:3:3: something follows the closing quote of a cell that begins in line 2, column 3: it was probably to end earlier\n    " + quoteRemedy,
		"id,text\na,x,\nb\nc,z\n":              "r.csv:2: 3 cells, the header has 2\n    a cell with a comma or a line break in it needs quotes around it\nr.csv:3: 1 cell, the header has 2\n    a cell with a comma or a line break in it needs quotes around it",
		"\"id,text\na,x\n":                     "r.csv:1:1: the quote that begins here is not closed\n    close it; if it is a part of the text, put the whole cell in quotes and double it",
	} {
		if got := refused(t, Input{Path: file(t, "r.csv", []byte(content))}, specOf("{{.text}}")); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", content, got, want)
		}
	}
}

// TestCase94Ids: the text of an id counts, and it has to be one that can be shown.
func TestCase94Ids(t *testing.T) {
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"A"}`+"\n"+`{"id":"a"}`+"\n"+`{"id":"--all"}`+"\n"+`{"id":"a/b c"}`+"\n"+`{"id":0.10}`, "x"), "A=x", "a=x", "--all=x", "a/b c=x", "0.10=x")
	for id, want := range map[string]string{
		strings.Repeat("x", 5000): "the row's id has 5000 bytes, more than 1024",
		"a\nb":                    `the row's id has a control character: "a\nb"`,
		"a\u2028b":                `the row's id has a control character: "a\u2028b"`,
		" ":                       "the row's id is empty",
	} {
		line, _ := json.Marshal(map[string]string{"id": id})
		if got := refused(t, Input{Path: file(t, "r.jsonl", line)}, specOf("x")); !strings.HasPrefix(got, `r.jsonl:1: field "id": `+want+"\n") {
			t.Errorf("%.20q: %s", id, got)
		}
	}
}

// TestCase95SamePrompts: the row's id is what counts, not its prompt.
func TestCase95SamePrompts(t *testing.T) {
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"a","p":"same"}`+"\n"+`{"id":"b","p":"same"}`+"\n"+`{"id":"c","p":123}`, "{{.p}}"), "a=same", "b=same", "c=123")
}

func TestCase97OnlyLFEndsLines(t *testing.T) {
	text := "a\u2028b\u2029c\u0085d"
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"a","t":"`+text+`"}`, "{{.t}}"), "a="+text)
	wantEqual(t, prompts(t, "r.json", `[{"id":"a","t":"`+text+`"}]`, "{{.t}}"), "a="+text)
}

// TestCase98HalfACharacter: a lone surrogate is the fault of its row alone.
func TestCase98HalfACharacter(t *testing.T) {
	content := `{"id":"a","t":"x"}` + "\n" + `{"id":"b","t":"half \ud83d"}` + "\n" + `{"id":"c","t":"\ud83d\ude00"}` + "\n"
	var bad []string
	p, err := Prepare(t.Context(), Input{Path: file(t, "r.jsonl", []byte(content))}, specOf("{{.t}}"), PrepareOptions{Invalid: func(r InvalidRow) error {
		bad = append(bad, fmt.Sprintf("%+v", r))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Rows != 2 || len(bad) != 1 || !strings.Contains(bad[0], "half a character") {
		t.Errorf("%d rows, left out %v", p.Rows, bad)
	}
}

// TestCase100Fields: an empty field and null are nothing in the prompt, and what is not
// there is refused.
func TestCase100Fields(t *testing.T) {
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"a","city":""}`+"\n"+`{"id":"b","city":null}`+"\n"+`{"id":"c","city":"x","n":{"y":1}}`, "In {{.city}}."), "a=In .", "b=In .", "c=In x.")
	for name, content := range map[string]string{"r.csv": "id,b\na,x\n", "r.jsonl": `{"id":"a"}`, "n.jsonl": `{"id":"a","city":{}}`} {
		field := "city"
		if name == "n.jsonl" {
			field = "city.name"
		}
		if got := refused(t, Input{Path: file(t, name, []byte(content))}, specOf("In {{."+field+"}}")); !strings.Contains(got, `field "`+field+`": `) || strings.Contains(got, "<no value>") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestCase101Numbers(t *testing.T) {
	for _, n := range []string{"2009532", "634866135153775564", "1e21", "0.1", "1.0"} {
		wantEqual(t, prompts(t, "r.json", "[\n {\n  \"id\": \"a\",\n  \"n\": "+n+"\n }\n]\n", "{{.n}}"), "a="+n)
	}
}

func TestCase103Compressed(t *testing.T) {
	a, b := `{"id":"a","text":"x"}`+"\n", `{"id":"b","text":"y"}`+"\n"
	skippable := "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
	for name, content := range map[string]string{
		"two frames":      string(zst(t, a)) + string(zst(t, b)),
		"skippable first": skippable + string(zst(t, a+b)),
		"two members":     string(gz(t, a)) + string(gz(t, b)),
	} {
		wantEqual(t, prompts(t, name, content, "{{.text}}"), "a=x", "b=y")
		rows, err := read(t, Input{Path: "-", Stdin: strings.NewReader(content), TempDir: t.TempDir()}, specOf("{{.text}}"))
		if err != nil || len(rows) != 2 {
			t.Errorf("%s on standard input: %d rows (%v)", name, len(rows), err)
		}
	}
	long := zst(t, strings.Repeat(a, 5000))
	for name, c := range map[string]struct{ content, want string }{
		"cut.zst":      {string(long[:len(long)-3]), "the zstd data is cut short: its end is missing\n    fetch or make the file again; nothing of it was used"},
		"cut.gz":       {string(gz(t, a)[:9]), "the gzip data is cut short: its end is missing\n    fetch or make the file again; nothing of it was used"},
		"rows.xz":      {"\xfd7zXZ\x00 …", "this is an xz file; gzip and zstd are read as they are\n    unpack it first: xz -d FILE"},
		"rows.parquet": {"PAR1 …", "this is a Parquet file\n    export it as JSONL or CSV"},
	} {
		if got := refused(t, Input{Path: file(t, name, []byte(c.content))}, specOf("{{.text}}")); got != name+": "+c.want {
			t.Errorf("got  %s\nwant %s: %s", got, name, c.want)
		}
	}
}

// TestEncodingHints: a short text may be of two encodings, and both are named.
func TestEncodingHints(t *testing.T) {
	for _, c := range []struct {
		enc        encoding.Encoding
		text, want string
	}{
		{japanese.ShiftJIS, "商品", "cp932 or windows-1252"}, {japanese.ShiftJIS, "あ", "cp932"}, {japanese.ShiftJIS, "テレビ、良い商品です。", "cp932"},
		{japanese.ShiftJIS, "東京と大阪", "cp932 or gbk"}, {japanese.ShiftJIS, "ｶﾒﾗ", "cp932 or windows-1252"},
		{charmap.Windows1252, "café", "windows-1252"}, {charmap.Windows1252, "Größe", "windows-1252"}, {charmap.Windows1252, "ÄÖÜ", "windows-1252 or cp932"},
	} {
		got := refused(t, Input{Path: file(t, "r.csv", []byte("id,text\na,"+encode(t, c.enc, c.text)+"\n"))}, specOf("{{.text}}"))
		first, _, _ := strings.Cut(c.want, " ")
		if !strings.Contains(got, "it looks like "+c.want+": give --encoding "+first+",") || !strings.Contains(got, "(iconv -f "+first+" -t utf-8 FILE > NEW)") {
			t.Errorf("%s: %s; want %s", c.text, got, c.want)
		}
	}
}

// TestKanjiHint: what is a text in two encodings is shown as both, and half a character
// is called that.
func TestKanjiHint(t *testing.T) {
	text := strings.Repeat("青い茶碗,檜,木の机,", 9)
	got := refused(t, Input{Path: file(t, "r.csv", []byte("id,text\na,\""+encode(t, japanese.ShiftJIS, text)+"\"\n"))}, specOf("{{.text}}"))
	if !strings.Contains(got, "it looks like cp932") || strings.Contains(got, "gbk") && !strings.Contains(got, "look which is right: the line is as cp932 \"a,") {
		t.Error(got)
	}
	got = refused(t, Input{Path: file(t, "k.csv", []byte("id,text\na,\""+encode(t, japanese.ShiftJIS, strings.Repeat("漢字檜茶碗机", 9))+"\"\n"))}, specOf("{{.text}}"))
	if !strings.Contains(got, "it looks like cp932 or gbk") || !strings.Contains(got, "漢字檜") {
		t.Error(got)
	}
	got = refused(t, Input{Path: file(t, "r.jsonl", []byte("{\"id\":\"a\",\"text\":\"x\xed\xa0\xbd\"}\n"))}, specOf("{{.text}}"))
	if !strings.Contains(got, "r.jsonl:1:") || !strings.Contains(got, "half a character (bytes EDA0BD)") || strings.Contains(got, "--encoding") {
		t.Error(got)
	}
}

// TestBareCRs: files whose lines end in CR alone are told, and CRs elsewhere are not.
func TestBareCRs(t *testing.T) {
	const want = ":1: lines end in CR alone, as old Macs and their spreadsheets write them\n    convert it: tr '\\r' '\\n' < FILE > NEW"
	for name, content := range map[string]string{"r.csv": "id,text\ra,x\rb,y\r", "r.jsonl": "{\"id\":1}\r{\"id\":2}\r", "r.tsv": "id\ttext\ra\tx"} {
		if got := refused(t, Input{Path: file(t, name, []byte(content))}, specOf("x")); got != name+want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, c := range map[string]struct{ content, want string }{
		"u16.csv": {encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "id,text\ra,x\r"), "convert it: iconv -f utf-16 -t utf-8 FILE | tr"},
		"r.gz":    {string(gz(t, "id,text\ra,x\r")), "convert it: gzip -dc FILE | tr '\\r' '\\n' > NEW"},
		"one.csv": {"id,text\ra,x\n", "lines end in CR alone"},
		"two.csv": {"id,text\ra,x\nb,y\n", "the header has a CR in it"},
	} {
		if got := refused(t, Input{Path: file(t, name, []byte(c.content))}, specOf("x")); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	wantEqual(t, prompts(t, "r.jsonl", "{\"id\":\"a\"}\r", "x"), "a=x")
	wantEqual(t, prompts(t, "r.json", "[{\"id\":\"a\"},\r{\"id\":\"b\"}]\r", "x"), "a=x", "b=x")
}

// TestEndless: what has no end is read only as far as it takes to know.
func TestEndless(t *testing.T) {
	for text, want := range map[string]string{
		"\x00":            "standard input:1:1: a NUL byte",
		"x":               "standard input:1: a record of more than 1000 KiB",
		"{\"a\":1 ":       "standard input:1: a line of more than 1000 KiB",
		"id,b\nö\xff\xfe": "standard input:2:2: invalid UTF-8",
	} {
		r := &endless{text: text}
		_, err := read(t, Input{Path: "-", Stdin: r, MaxRecord: 1000 << 10, TempDir: t.TempDir()}, specOf("x"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || r.read > 3<<20 {
			t.Errorf("%q: %v, after %d bytes; want %s", text, err, r.read, want)
		}
	}
	row, long := "{\"id\":\"a\"}\n", strings.Repeat("{\"id\":\"ö\"}", 1)
	for name, content := range map[string]string{"rows": row + strings.Repeat("\n", 3<<20), "an array": "[" + strings.Repeat(" ", 3<<20) + long + "]"} {
		rows, err := read(t, Input{Path: "-", Stdin: strings.NewReader(content), MaxRecord: 1000, TempDir: t.TempDir()}, specOf("x"))
		if err != nil || len(rows) != 1 {
			t.Errorf("%s that are long are read: %d (%v)", name, len(rows), err)
		}
	}
}

// endless repeats a text for ever.
type endless struct {
	text string
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.text[(int(e.read)+i)%len(e.text)]
	}
	e.read += int64(len(b))
	return len(b), nil
}

// TestSizeCapOfPipes: what comes by a pipe is never cut without a word.
func TestSizeCapOfPipes(t *testing.T) {
	row := "{\"id\":\"a\",\"text\":\"x\"}\n"
	in := Input{Path: "-", Stdin: strings.NewReader(row), MaxBytes: int64(len(row)), TempDir: t.TempDir()}
	if _, err := read(t, in, specOf("{{.text}}")); err != nil {
		t.Errorf("as large as may be: %v", err)
	}
	in.Stdin = strings.NewReader(row + "\n")
	if _, err := read(t, in, specOf("{{.text}}")); err == nil || err.Error() != "standard input: the input is larger than 22 B, unpacked\n    split it, or raise the limit with --max-input" {
		t.Errorf("a byte more: %v", err)
	}
}

func TestCase104Layouts(t *testing.T) {
	for name, content := range map[string]string{
		"array.json":      "\n[ {\"id\":\"a\",\"text\":\"x, \\\" y\"} ,\n{\"id\":\"b\",\n \"text\" : \"[z]\\\\\"}\n]\n\n",
		"one line.json":   `[{"id":"a","text":"x, \" y"},{"id":"b","text":"[z]\\"}]`,
		"array in.jsonl":  `[{"id":"a","text":"x, \" y"},{"id":"b","text":"[z]\\"}]`,
		"sniffed":         "\n\n" + `[{"id":"a","text":"x, \" y"},{"id":"b","text":"[z]\\"}]`,
		"blank lines.txt": "\n" + `{"id":"a","text":"x, \" y"}` + "\n\n\r\n" + `{"id":"b","text":"[z]\\"}` + "\n",
	} {
		wantEqual(t, prompts(t, name, content, "{{.text}}"), `a=x, " y`, `b=[z]\`)
	}
	for content, want := range map[string]string{
		"[]":                                 "r.json: the input has no rows\n    check the command or file that it comes from",
		"[":                                  "r.json:1: the JSON array ends before its first element\n    the file is cut short: fetch or make it again",
		`[{"id":"a"},` + "\n":                "r.json:2 (element 1): the JSON array has no end: ] is missing\n    the file is cut short: fetch or make it again",
		"[{\"id\":\"a\"},\n{\"id\":":         "r.json:2 (element 2): the element does not end\n    the file is cut short, or a quote or bracket is missing",
		"[{\"id\":\"a\"}\n{}]":               "r.json:2 (element 1): a comma or ] is expected after the element, not '{'\n    repair the array: nothing behind this place was read",
		`[{"id":"a"},]`:                      "r.json:1 (element 1): a comma with no element behind it\n    remove it",
		`[{"id":"a"}] []`:                    "r.json:1 (element 1): something follows the end of the JSON array\n    one array is read: join several with jq -s add FILE",
		"[{\"id\":\"a\"},\n 42]":             "r.json:2 (element 2): a JSON value that is not an object\n    write the row as {\"id\": …, \"field\": …}",
		"[{\"id\":\"a\"},\n {\"id\":\n  b}]": "r.json:3 (element 2): invalid JSON: invalid character 'b' looking for beginning of value, in … {\"id\": b} …\n    repair the array: nothing behind this place was read",
		"[{\"id\":\"a\"},{\"id\":\"a\"}]":    "r.json:1 (element 2): row \"a\": the id was used in element 1 already\n    each row needs an id of its own",
		"{\n  \"id\": \"a\"\n}\n{\n  \"id\": \"b\"\n}\n": "r.json:1: the JSON object goes on over several lines, but one object per line is expected (JSONL)\n    convert it: jq -c . FILE",
	} {
		if got := refused(t, Input{Path: file(t, "r.json", []byte(content))}, specOf("x")); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", content, got, want)
		}
	}
	if got := refused(t, Input{Path: file(t, "r.jsonl", []byte("[{}]")), Format: "jsonl"}, specOf("x")); got != "r.jsonl:1: a JSON array, but one object per line is expected (JSONL)\n    leave --format out, or give --format json" {
		t.Error(got)
	}
}

// TestArrayInPieces: an element ends where it does, however it is cut into reads.
func TestArrayInPieces(t *testing.T) {
	value := `{"id":"a\\","t":"q\"uo\\\"te","n":[1,{"x":"]}"}]}`
	for size := 1; size <= len(value); size++ {
		var s valueScan
		n, rest := 0, value+`,{"id"`
		for done := false; !done; {
			k := 0
			k, done = s.feed([]byte(rest[:min(size, len(rest))]))
			n, rest = n+k, rest[k:]
		}
		if n != len(value) {
			t.Errorf("pieces of %d: %d bytes, want %d", size, n, len(value))
		}
	}
}

// TestLargeArray is streamed: one that is larger than what it may take at once.
func TestLargeArray(t *testing.T) {
	pr, pw := io.Pipe()
	go func() {
		fmt.Fprint(pw, "[")
		for i := range 2000 {
			fmt.Fprintf(pw, "%s\n{\n \"id\": %d,\n \"text\": \"%s\"\n}", strings.Repeat(",", min(i, 1)), i, strings.Repeat("x", 1000))
		}
		fmt.Fprint(pw, "]")
		_ = pw.Close()
	}()
	rows, err := read(t, Input{Path: "-", Stdin: pr, MaxRecord: 2000, TempDir: t.TempDir()}, specOf("{{len .text}}"))
	if err != nil || len(rows) != 2000 || rows[1999].Line != 7998 || rows[1999].Element != 2000 {
		t.Fatalf("%d rows (%v), the last %+v", len(rows), err, rows[max(0, len(rows)-1)])
	}
	if bytes.ContainsAny(rows[0].Fields, "\n ") {
		t.Errorf("fields have line breaks: %q", rows[0].Fields)
	}
}

// TestMixedEncodings: UTF-8 first, then another encoding.
func TestMixedEncodings(t *testing.T) {
	content := "id,text\na,日本語\nb," + encode(t, japanese.ShiftJIS, "商品の説明文です") + "\n"
	got := refused(t, Input{Path: file(t, "r.csv", []byte(content))}, specOf("{{.text}}"))
	if !strings.HasPrefix(got, "r.csv:3:3: invalid UTF-8") || !strings.Contains(got, "files of two encodings were joined") {
		t.Error(got)
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a.csv", "id,text\na,x\nb,\"y\nz\"\n"), write("b.csv", "text,id\nw,c\n")
	spec := specOf("{{.text}}")
	rows, err := read(t, Input{Paths: []string{a, b}}, spec)
	if err != nil || len(rows) != 3 || rows[2].ID != "c" || rows[2].Line != 2 || rows[2].File != b {
		t.Fatalf("%+v (%v)", rows, err)
	}
	again, ragged := write("again.csv", "id,text\nd,x\nb,y\n"), write("ragged.csv", "id,text\ne\n")
	for want, paths := range map[string][]string{
		"again.csv:3: row \"b\": the id was used in a.csv, line 3 already\n    each row needs an id of its own\nragged.csv:2: 1 cell, the header has 2\n    a cell with a comma or a line break in it needs quotes around it": {a, b, again, ragged},
		"r.json: is a JSON array, and the first file is CSV: all files of a run are of one kind\n    make two runs of them, or convert the one or the other":                                                                  {a, write("r.json", `[{"id":"z","text":"x"}]`)},
		"empty.csv: the input is empty\n    check the command or file that it comes from":                                                                                                                                     {a, write("empty.csv", "")},
		"no.csv: no such file\n.: is a folder\n    name its files, for example './*.csv'":                                                                                                                                     {filepath.Join(dir, "no.csv"), a, dir},
	} {
		_, err := read(t, Input{Paths: paths}, spec)
		if err == nil {
			t.Errorf("accepted, want %s", want)
			continue
		}
		got := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/*", "./*"), dir+"/", ""), dir, ".")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestExpandPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"b.jsonl", "a.jsonl", ".hidden.jsonl", "odd[1].csv"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir.jsonl", 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := ExpandPaths([]string{"b.jsonl", "*.jsonl", "./a.jsonl", "odd[1].csv", "-", "none.csv"})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, "b.jsonl", "a.jsonl", "odd[1].csv", "-", "none.csv")
	_, err = ExpandPaths([]string{"*.csvx", "in/**/a.csv", "a[.csv"})
	want := "*.csvx: no file matches\n    check the folder and the ending; patterns are read relative to the folder you are in\n" +
		"in/**/a.csv: ** is no pattern here\n    name the folders (in/*/*.jsonl), or let the shell find the files\n" +
		"a[.csv: the pattern cannot be read\n    a [ needs its ]; write \\[ for the character itself"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestWideAndLarge has 10,000 columns, and a row of 20 MB.
func TestWideAndLarge(t *testing.T) {
	names, cells := make([]string, 10_000), make([]string, 10_000)
	for i := range names {
		names[i], cells[i] = fmt.Sprintf("c%d", i), fmt.Sprint(i)
	}
	content := "id," + strings.Join(names, ",") + "\na," + strings.Join(cells, ",") + "\n"
	wantEqual(t, prompts(t, "r.csv", content, "{{.c9999}}"), "a=9999")
	got := refused(t, Input{Path: file(t, "r.csv", []byte(content))}, specOf("{{.nope}}"))
	if len(got) > 400 || !strings.Contains(got, "and 9981 more") {
		t.Errorf("%d bytes: %.400s", len(got), got)
	}
	large := `{"id":"a","text":"` + strings.Repeat("x", 20<<20) + `"}`
	got = refused(t, Input{Path: file(t, "r.jsonl", []byte(large))}, specOf("{{len .text}}"))
	if got != "r.jsonl:1: a line of more than 16 MiB\n    one JSON object per line is expected; --max-record raises the limit" {
		t.Error(got)
	}
	rows, err := read(t, Input{Path: file(t, "r.json", []byte("["+large+"]")), MaxRecord: 32 << 20}, specOf("{{len .text}}"))
	if err != nil || rows[0].Prompt != "20971520" {
		t.Errorf("with a higher limit: %v", err)
	}
}

// TestBatchLines: without a template, lines of batch files are known by their members.
func TestBatchLines(t *testing.T) {
	openai := `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"gemini-x","messages":[{"role":"user","content":"hi"}]}}`
	gemini := `{"key":"a","request":{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}}`
	for content, want := range map[string]string{
		openai: LinesOpenAI, gemini: LinesGemini, "[" + openai + ",\n" + strings.Replace(openai, `"a"`, `"b"`, 1) + "]": LinesOpenAI,
	} {
		p, err := Prepare(t.Context(), Input{Path: file(t, "r.jsonl", []byte(content))}, specOf(""), PrepareOptions{})
		if err != nil || p.Spec.Lines != want || idsOf(t, p)[0] != "a" {
			t.Errorf("%.40s: %v", content, err)
		}
	}
	for content, want := range map[string]string{
		openai + "\n" + `{"custom_id":"b"}`:    "r.jsonl:2: field \"body\": the line has no such member, as lines of OpenAI's batch have\n    repair the line; if rows are fields for a prompt, give a template (-t)",
		strings.Replace(gemini, "key", "k", 1): "",
		`{"id":"a","text":"x"}`:                "",
	} {
		_, err := Prepare(t.Context(), Input{Path: file(t, "r.jsonl", []byte(content))}, specOf(""), PrepareOptions{})
		if want == "" && !errors.Is(err, ErrNoTemplate) || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%.40s: %v, want %s", content, err, want)
		}
	}
	in := Input{Path: file(t, "r.jsonl", []byte(openai))}
	if got := refused(t, in, specOf("{{.body}}")); !strings.HasSuffix(got, "; a file of batch requests is sent as it is, without a template") {
		t.Error(got)
	}
}

// TestZstdWindow: a frame that would take too much memory is refused with a remedy.
func TestZstdWindow(t *testing.T) {
	if got := damaged("zstd", zstd.ErrWindowSizeExceeded).Error(); !strings.Contains(got, "256 MiB") || !strings.Contains(got, "zstd -d FILE") {
		t.Error(got)
	}
}
