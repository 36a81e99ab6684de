package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// leave prepares content, leaving bad rows out, and gives those too.
func leave(t *testing.T, name, content string, spec Spec) (*Prepared, []InvalidRow) {
	t.Helper()
	var left []InvalidRow
	p, err := Prepare(t.Context(), Input{Path: file(t, name, []byte(content)), MaxRecord: 300_000}, spec, PrepareOptions{
		Invalid: func(r InvalidRow) error { left = append(left, r); return nil },
		Check: func(r RenderedRow) error {
			if strings.HasPrefix(r.Prompt, "toolong") {
				return errors.New("too long")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if p.LeftOut != int64(len(left)) {
		t.Errorf("%d left out, %d told", p.LeftOut, len(left))
	}
	return p, left
}

// idsOf reads the rows as an enqueue does.
func idsOf(t *testing.T, p *Prepared) []string {
	t.Helper()
	var out []string
	if err := p.Each(t.Context(), func(r RenderedRow) error { out = append(out, r.ID); return nil }); err != nil {
		t.Fatal(err)
	}
	if int64(len(out)) != p.Rows {
		t.Errorf("%d rows read, %d counted", len(out), p.Rows)
	}
	return out
}

// invalidText is what the file of left out rows has, without the file's folder.
func invalidText(t *testing.T, left []InvalidRow) []string {
	t.Helper()
	var out []string
	for _, r := range left {
		r.Remedy = ""
		r.File = r.File[strings.LastIndexByte(r.File, '/')+1:]
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func TestLeftOutOfJSONL(t *testing.T) {
	content := `{"id":"a","text":"x"}
{"id":"b","text":"y",}
42
{"id":"c"}
{"id":"a","text":"again"}

{"id":"d","text":"toolong"}
{"id":"e","text":"` + strings.Repeat("z", 400_000) + `"}
{"text":"no id"}
{"id":"f","text":"w"}
`
	p, left := leave(t, "r.jsonl", content, specOf("{{.text}}"))
	wantEqual(t, idsOf(t, p), "a", "f")
	wantEqual(t, invalidText(t, left),
		`{"file":"r.jsonl","line":2,"column":22,"problem":"invalid JSON: invalid character '}' looking for beginning of object key string","row":"{\"id\":\"b\",\"text\":\"y\",}"}`,
		`{"file":"r.jsonl","line":3,"problem":"a JSON value that is not an object","row":"42"}`,
		`{"file":"r.jsonl","line":4,"id":"c","field":"text","problem":"the row has no such field, and the template uses it (template, line 1)","row":{"id":"c"}}`,
		`{"file":"r.jsonl","line":5,"id":"a","problem":"the id was used in line 1 already","row":{"id":"a","text":"again"}}`,
		`{"file":"r.jsonl","line":7,"id":"d","problem":"too long","row":{"id":"d","text":"toolong"}}`,
		`{"file":"r.jsonl","line":8,"problem":"a line of more than 293 KiB","row":null}`,
		`{"file":"r.jsonl","line":9,"field":"id","problem":"the row has no such field, which is to identify it","row":{"text":"no id"}}`,
	)
}

// TestLeftOutOfCSV: a row number counts bad rows too, so that mending one moves no
// other.
func TestLeftOutOfCSV(t *testing.T) {
	spec := specOf("{{.text}}")
	spec.IDColumn = RowNumbers
	p, left := leave(t, "r.csv", "text,n\nx,1\ny\n\"Best\" of,2\nz,3\n5\" disk,4\nw,5\n", spec)
	wantEqual(t, idsOf(t, p), "1", "4", "6")
	wantEqual(t, invalidText(t, left),
		`{"file":"r.csv","line":3,"id":"2","problem":"1 cell, the header has 2","columns":["text","n"],"row":"y\n"}`,
		`{"file":"r.csv","line":4,"column":7,"id":"3","problem":"something follows a cell's closing quote","columns":["text","n"],"row":"\"Best\" of,2"}`,
		`{"file":"r.csv","line":6,"column":2,"id":"5","problem":"a quote in a cell that does not begin with one","columns":["text","n"],"row":"5\" disk,4"}`,
	)
}

// TestLeftOutWithMatrix: a record is in the run with all its cells or with none.
func TestLeftOutWithMatrix(t *testing.T) {
	spec := specOf(`{{if eq .lang "en"}}{{.text}}{{else}}fine{{end}}`)
	spec.Matrix = []Axis{{"lang", []string{"ja", "en"}}}
	p, left := leave(t, "r.csv", "id,text\na,x\nb,toolong\nc,z\n", spec)
	wantEqual(t, idsOf(t, p), "a/ja", "a/en", "c/ja", "c/en")
	if len(left) != 1 || left[0].ID != "b/en" || p.Records != 2 {
		t.Errorf("left out %+v, %d records", left, p.Records)
	}
}

// TestFaultsAreNeverLeftOut: what is wrong with the file is wrong with all rows.
func TestFaultsAreNeverLeftOut(t *testing.T) {
	for name, content := range map[string]string{
		"latin1.csv":     "id,text\na,x\nb,caf\xe9\n",
		"nul.csv":        "id,text\na,x\x00\n",
		"no id.csv":      "key,text\na,x\n",
		"columns.csv":    "id,text,text\na,x,y\n",
		"template.csv":   "id,name\na,x\n",
		"open quote.csv": "id,text\na,x\nb,\"y\nc,z\n",
		"two quotes.csv": "id,text\na,x\nb,\"y\nc,\"z\"\n",
		"array.json":     `[{"id":"a","text":"x"},{"id":"b","text":}]`,
		"cut.json":       `[{"id":"a","text":"x"}`,
		"all bad.jsonl":  "{}\n{}\n",
		"empty.csv":      "",
		"cut.jsonl.gz":   string(gz(t, strings.Repeat("{\"id\":\"a\",\"text\":\"x\"}\n", 1000))[:40]),
	} {
		_, err := Prepare(t.Context(), Input{Path: file(t, name, []byte(content))}, specOf("{{.text}}"), PrepareOptions{
			Invalid: func(InvalidRow) error { return nil },
		})
		var ie *InputError
		if !errors.As(err, &ie) {
			t.Errorf("%s: %v, want an InputError", name, err)
		}
	}
}

// TestMendedRows goes the whole way: rows are left out, mended in the file of such
// rows, and come into the run without touching its others; so does the whole file.
func TestMendedRows(t *testing.T) {
	rdb := redisClient(t)
	s := NewStore(rdb, StoreOptions{})
	spec := specOf("{{.text}}")
	spec.Name = "catalog"
	enqueue := func(p *Prepared, o EnqueueOptions) EnqueueReport {
		t.Helper()
		r, err := s.Enqueue(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	p, left := leave(t, "r.csv", "id,text\na,x\nb,y,too,many\nc\nd,w\n", spec)
	if r := enqueue(p, EnqueueOptions{}); r.New != 2 || r.Run.LeftOut != 2 {
		t.Fatalf("at first: %+v", r)
	}
	left[0].Row = json.RawMessage(`{"id":"b","text":"y, too, many"}`)
	left[1].Row = json.RawMessage(`"c,\"now, whole\"\n"`)
	mended, _ := leave(t, "bad.jsonl", invalidLines(t, left[0]), spec)
	if r := enqueue(mended, EnqueueOptions{}); !mended.Mended || r.New != 1 || r.Run.Rows != 3 || r.Run.LeftOut != 1 || !strings.HasSuffix(r.Run.Input, "r.csv") {
		t.Fatalf("one mended: %+v", r)
	}
	both, _ := leave(t, "bad.jsonl", invalidLines(t, left...), spec)
	if r := enqueue(both, EnqueueOptions{Update: true}); r.New != 1 || r.Known != 1 || r.Removed != 0 || r.Run.Rows != 4 || r.Run.LeftOut != 0 {
		t.Fatalf("both mended: %+v", r)
	}
	if r := enqueue(p, EnqueueOptions{}); r.New != 0 || r.Known != 2 || r.Removed != 0 || r.Run.Rows != 4 || r.Run.LeftOut != 0 {
		t.Fatalf("the first file again: %+v", r)
	}
	less, _ := leave(t, "less.csv", "id,text\na,x\n", spec)
	for q, refused := range map[*Prepared]bool{p: false, less: true} {
		if refusal, err := s.Refuses(t.Context(), q, false); err != nil || (refusal != nil) != refused {
			t.Errorf("%s: refused: %v (%v), want %v", q.Name, refusal, err, refused)
		}
	}
	whole, _ := leave(t, "r.csv", "id,text\na,x\nb,\"y, too, many\"\nc,\"now, whole\"\nd,w\n", spec)
	if r := enqueue(whole, EnqueueOptions{}); r.New != 0 || r.Known != 4 || r.Run.LeftOut != 0 {
		t.Fatalf("the whole file: %+v", r)
	}
}

// TestMendedFile: the file that rows were left out of adds them once it is mended, but
// nothing else does without Update.
func TestMendedFile(t *testing.T) {
	s := NewStore(redisClient(t), StoreOptions{})
	spec := specOf("{{.text}}")
	spec.Name = "catalog"
	for i, c := range []struct {
		content  string
		new      int64
		refused  bool
		leftOver int64
	}{
		{"id,text\na,x\nb,y,\nc,z,\n", 1, false, 2},
		{"id,text\na,x\nb,y\nc,z,\n", 1, false, 1},
		{"id,text\na,x\nb,y\nc,z,\nd,new\n", 0, true, 1}, // one more than there was
		{"id,text\na,changed\nb,y\nc,z\n", 0, true, 1},
		{"id,text\na,x\nb,y\nc,z\n", 1, false, 0},
		{"id,text\na,x\nb,y\nc,z\nd,new\n", 0, true, 0},
	} {
		p, _ := leave(t, "r.csv", c.content, spec)
		r, err := s.Enqueue(t.Context(), p, EnqueueOptions{})
		var changed *ChangedError
		if c.refused != errors.As(err, &changed) || !c.refused && (err != nil || r.New != c.new || r.Run.LeftOut != c.leftOver) {
			t.Errorf("step %d: %+v (%v)", i, r, err)
		}
	}
}

func TestRowThatIsNotMended(t *testing.T) {
	_, left := leave(t, "r.csv", "id,text\na,x\nc\n", specOf("{{.text}}"))
	msg := refused(t, Input{Path: file(t, "bad.jsonl", []byte(invalidLines(t, left...)))}, specOf("{{.text}}"))
	want := "bad.jsonl:1: the row is not mended: 1 cell, the header has 2\n    write it as an object: \"row\": {\"id\": …, \"field\": …}"
	if msg != want {
		t.Errorf("got  %s\nwant %s", msg, want)
	}
}

func invalidLines(t *testing.T, rows ...InvalidRow) string {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	return b.String()
}
