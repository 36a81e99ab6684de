package jobs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var csvLines = []string{
	`{"id":"7","run":"r","n":0,"status":"done","output":"{\"title\":\"Tea\",\"n\":2}","parsed":{"title":"Tea","n":2},"fields":{"id":"7","name":"=1+1","price":1e21,"tags":["a","b"],"none":null},"model":"m","usage":{"prompt_tokens":12,"output_tokens":3,"total_tokens":15},"cost_micro_usd":123,"attempts":1,"waited_ms":61000,"waits_ms":{"queue":1000,"quota":60000},"service_tier":"flex"}`,
	`{"id":"8","run":"r","n":1,"status":"failed","fields":{"id":"8","name":"Grün\r\nTee","status":"old","price":-5},"attempts":2,"error":{"cause":"timeout","message":"no answer, in time"}}`,
}

func csvOf(t *testing.T, s Spec, o CSVOptions, w CSVWriterOptions, lines ...string) (string, error) {
	t.Helper()
	c := ColumnsOf(s, o)
	for _, l := range lines {
		if err := c.See([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	out, err := NewCSVWriter(&b, w)
	if err != nil {
		return "", err
	}
	if err := out.Header(c.Header()); err != nil {
		return "", err
	}
	for _, l := range lines {
		_, cells, err := c.Cells([]byte(l))
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Write("7", cells); err != nil {
			return "", err
		}
	}
	err = out.Close()
	return b.String(), errors.Join(err, readBack(&b, w))
}

func readBack(b *bytes.Buffer, o CSVWriterOptions) error {
	if o.Encoding != "" {
		return nil
	}
	_, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b.Bytes(), []byte("\ufeff")))).ReadAll()
	return err
}

// TestCSVColumns: what rows brought comes first and unchanged, the id once; ours keep
// apart from theirs.
func TestCSVColumns(t *testing.T) {
	t.Parallel()
	if _, err := csvOf(t, Spec{IDColumn: "id"}, CSVOptions{}, CSVWriterOptions{}, csvLines...); err != nil {
		t.Fatal(err)
	}
	c := ColumnsOf(Spec{IDColumn: "id"}, CSVOptions{})
	for _, l := range csvLines {
		if err := c.See([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	want := "id,name,price,tags,none,status,result_status,output,model,service_tier,prompt_tokens,cached_tokens,output_tokens,thought_tokens,cost_usd,attempts,waited_ms,waited_queue_ms,waited_quota_ms,finish_reason,error_cause,error_message"
	if got := strings.Join(c.Header(), ","); got != want {
		t.Errorf("columns\n%s, want\n%s", got, want)
	}
	_, cells, err := c.Cells([]byte(csvLines[0]))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cells, "|"); got != `7|=1+1|1e21|["a","b"]|||done|{"title":"Tea","n":2}|m|flex|12|0|3|0|0.000123|1|61000|1000|60000|||` {
		t.Error(got)
	}
	if _, cells, _ = c.Cells([]byte(csvLines[1])); cells[1] != "Grün\r\nTee" || cells[5] != "old" || cells[6] != "failed" || cells[len(cells)-1] != "no answer, in time" {
		t.Errorf("%q", cells)
	}
	flat := ColumnsOf(Spec{IDColumn: "sku"}, CSVOptions{Flatten: true})
	for _, l := range csvLines {
		_ = flat.See([]byte(l))
	}
	if got := strings.Join(flat.Header(), ","); !strings.Contains(got, "status,result_id,result_status,title,n,model") {
		t.Errorf("flat columns %s", got)
	}
	if _, cells, _ = flat.Cells([]byte(csvLines[0])); !slices.Equal(cells[6:10], []string{"7", "done", "Tea", "2"}) {
		t.Errorf("flat cells %q", cells)
	}
}

// TestCSVGlance: the columns are those of the decoded lines, whatever is in them.
func TestCSVGlance(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		c, want := ColumnsOf(Spec{}, CSVOptions{Flatten: true}), ColumnsOf(Spec{}, CSVOptions{Flatten: true})
		for range 1 + rng.IntN(3) {
			line, err := anyResult(rng).Line()
			if err == nil {
				err = c.See(line)
			}
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			var r Result
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			want.noteDecoded(r)
		}
		if got, want := c.Header(), want.Header(); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// anyResult has each member or not.
func anyResult(rng *rand.Rand) Result {
	some := func() bool { return rng.IntN(3) == 0 }
	r := Result{Row: "a/\"b\"", Status: "done"}
	if some() {
		r.Fields = json.RawMessage(`{"id":7,"n\u0061me":"{\"output\":1}"}`)
	}
	if some() {
		r.Output = `"parsed": {} \`
	}
	if some() {
		r.Parsed = json.RawMessage([]string{`{"title":"T","n":{"x":[1]}}`, `[1,{"service_tier":"flex"}]`, `null`}[rng.IntN(3)])
	}
	if some() {
		r.Embedding = []float32{0.5}
	}
	if some() {
		r.WaitsMS = map[string]int64{WaitCauses()[rng.IntN(len(WaitCauses()))]: 5}
	}
	if some() {
		r.Tier = "flex"
	}
	return r
}

// noteDecoded is See for a line that was decoded.
func (c *CSVColumns) noteDecoded(r Result) {
	fields, _ := membersOf(r.Fields, nil)
	for _, m := range fields {
		c.fields.add(m.name)
	}
	for cause := range r.WaitsMS {
		c.waits[cause] = true
	}
	c.tier = c.tier || r.Tier != ""
	if !isObject(r.Parsed) {
		c.whole = c.whole || csvLine{r}.answerText() != ""
		return
	}
	answer, _ := membersOf(r.Parsed, nil)
	for _, m := range answer {
		c.answer.add(m.name)
	}
}

// TestCSVExcelSafe: nothing is a formula, numbers stay numbers, and line ends within
// cells stay as they were.
func TestCSVExcelSafe(t *testing.T) {
	t.Parallel()
	got, err := csvOf(t, Spec{}, CSVOptions{}, CSVWriterOptions{ExcelSafe: true}, csvLines...)
	if err != nil || !strings.HasPrefix(got, "\ufeffid,") || !strings.Contains(got, ",'=1+1,1e21,") || !strings.Contains(got, "\"Grün\r\nTee\",-5,") || !strings.HasSuffix(got, "\r\n") {
		t.Errorf("%q (%v)", got, err)
	}
	for cell, want := range map[string]string{"=1": "'=1", "-5": "-5", "+1,5": "+1,5", "-x": "'-x", "@a": "'@a", "\ta": "'\ta", "\ra": "'\ra", "＝1": "'＝1", "a=": "a=", "": ""} {
		if got := excelSafe(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
	}
}

// TestCSVEncoding: what an encoding cannot say is named with its place, or replaced.
func TestCSVEncoding(t *testing.T) {
	t.Parallel()
	line := `{"id":"7","status":"done","output":"茶 ü","fields":{"id":"7","name":"日本"}}`
	_, err := csvOf(t, Spec{}, CSVOptions{}, CSVWriterOptions{Encoding: "cp932"}, line)
	var unsayable *UnsayableError
	if !errors.As(err, &unsayable) || unsayable.Row != "7" || unsayable.Column != "output" || unsayable.Char != 'ü' {
		t.Errorf("%v", err)
	}
	got, err := csvOf(t, Spec{}, CSVOptions{}, CSVWriterOptions{Encoding: "cp932", Replace: true}, line)
	if err != nil || !strings.Contains(got, "\x93\xfa\x96\x7b") || !strings.Contains(got, "\x92\x83 ?") {
		t.Errorf("%q (%v)", got, err)
	}
	got, err = csvOf(t, Spec{}, CSVOptions{}, CSVWriterOptions{Encoding: "utf-16"}, line)
	if err != nil || !strings.HasPrefix(got, "\xff\xfei\x00d\x00") && !strings.HasPrefix(got, "\xfe\xff\x00i\x00d") {
		t.Errorf("%q (%v)", got, err)
	}
	if _, err := NewCSVWriter(&bytes.Buffer{}, CSVWriterOptions{Encoding: "klingon"}); err == nil || !strings.Contains(err.Error(), "cp932") {
		t.Error(err)
	}
}

// TestJoin puts the outputs of a row side by side; one that has not ended is empty.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := Spec{Outputs: []Output{{Name: "title"}, {Name: "text"}}}
	j, ok := JoinOf(s)
	if !ok {
		t.Fatal("no outputs")
	}
	lines := []string{
		`{"id":"7/title","run":"r","n":0,"status":"done","output":"T","fields":{"id":"7","a":[1]}}`,
		`{"id":"7/text","run":"r","n":1,"status":"done","output":"X","fields":{"id":"7","a":[1]}}`,
		`{"id":"a/b/text","run":"r","n":3,"status":"failed","fields":{"id":"a/b","a":[2]},"error":{"cause":"safety","message":"no"}}`,
	}
	c := ColumnsOf(s, CSVOptions{Join: j})
	g := &Joined{Join: j}
	var jsonl, cells []string
	each := func(row string, got map[string][]byte) error {
		line, err := j.Line(row, got)
		jsonl = append(jsonl, string(line))
		if err != nil {
			return err
		}
		cs, err := c.CellsJoined(got)
		cells = append(cells, strings.Join(cs, "|"))
		return err
	}
	for _, l := range lines {
		if err := c.See([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lines {
		if err := g.Add([]byte(l), each); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Flush(each); err != nil {
		t.Fatal(err)
	}
	if len(jsonl) != 2 || jsonl[0] != `{"id":"7","run":"r","fields":{"id":"7","a":[1]},"outputs":{"text":{"n":1,"status":"done","output":"X"},"title":{"n":0,"status":"done","output":"T"}}}` {
		t.Errorf("%q", jsonl)
	}
	head := strings.Join(c.Header(), "|")
	if !strings.HasPrefix(head, "id|a|title_status|title|") || !strings.Contains(head, "|text_status|text|text_model|") {
		t.Error(head)
	}
	for _, line := range cells {
		if strings.Count(line, "|") != strings.Count(head, "|") {
			t.Errorf("%q has other columns than %q", line, head)
		}
	}
	if !strings.HasPrefix(cells[0], "7|[1]|done|T|") || !strings.HasPrefix(cells[1], "a/b|[2]||") || !strings.HasSuffix(cells[1], "|safety|no") {
		t.Errorf("%q", cells)
	}
}
