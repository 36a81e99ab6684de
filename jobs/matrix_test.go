package jobs

import (
	"errors"
	"strings"
	"testing"
)

func TestMatrix(t *testing.T) {
	spec := specOf("{{.text}} in {{.lang}}, {{.tone}}")
	spec.Matrix = []Axis{{"lang", []string{"ja", "en"}}, {"tone", []string{"dry", "\"warm\""}}}
	rows, err := read(t, Input{Path: file(t, "r.jsonl", []byte(`{"id":"a","text":"x","n":1.0}`))}, spec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.ID+"|"+r.Prompt+"|"+string(r.Fields))
	}
	wantEqual(t, got,
		`a/ja/dry|x in ja, dry|{"id":"a","text":"x","n":1.0,"lang":"ja","tone":"dry"}`,
		`a/ja/"warm"|x in ja, "warm"|{"id":"a","text":"x","n":1.0,"lang":"ja","tone":"\"warm\""}`,
		`a/en/dry|x in en, dry|{"id":"a","text":"x","n":1.0,"lang":"en","tone":"dry"}`,
		`a/en/"warm"|x in en, "warm"|{"id":"a","text":"x","n":1.0,"lang":"en","tone":"\"warm\""}`)
}

func TestMatrixWithoutFields(t *testing.T) {
	spec := specOf("{{.lang}}")
	spec.Matrix, spec.IDColumn = []Axis{{"lang", []string{"ja"}}}, RowNumbers
	rows, err := read(t, Input{Path: file(t, "r.jsonl", []byte("{}\n{ }\n"))}, spec)
	if err != nil || rows[1].ID != "2/ja" || string(rows[1].Fields) != `{ "lang":"ja"}` {
		t.Errorf("%+v (%v)", rows, err)
	}
}

func TestMatrixClash(t *testing.T) {
	spec := specOf("{{.text}}")
	spec.Matrix = []Axis{{"text", []string{"ja"}}}
	msg := refused(t, Input{Path: file(t, "r.csv", []byte("id,text\na,x\n"))}, spec)
	if msg != "r.csv:2: row \"a\", field \"text\": the row has a field of the same name as the matrix\n    rename the one or the other" {
		t.Error(msg)
	}
	for _, axes := range [][]Axis{{{"lang", nil}}, {{"a", []string{"x"}}, {"a", []string{"y"}}}, {{"a", []string{"x", "x"}}}, {{"a", []string{"x", ""}}}} {
		spec.Matrix = axes
		_, err := read(t, Input{Path: file(t, "r.csv", []byte("id,text\na,x\n"))}, spec)
		var ie *InputError
		if !errors.As(err, &ie) || !strings.Contains(err.Error(), "matri") {
			t.Errorf("%v: %v", axes, err)
		}
	}
}

// TestFieldsPassUnchanged: nested objects, arrays, nulls, order, digits.
func TestFieldsPassUnchanged(t *testing.T) {
	line := `{"z":[{"b":1.0},[],null],"id":"a","n":634866135153775564,"s":"\u00e9\/ < & >","o":{"y":{},"x":null}}`
	rows, err := read(t, Input{Path: file(t, "r.jsonl", []byte(line))}, specOf("p"))
	if err != nil || string(rows[0].Fields) != line {
		t.Fatalf("%s (%v)", rows[0].Fields, err)
	}
	out, err := Result{Row: "a", Fields: rows[0].Fields}.Line()
	if err != nil || !strings.Contains(string(out), `"fields":`+line) {
		t.Errorf("%s (%v)", out, err)
	}
	csv, err := read(t, Input{Path: file(t, "r.csv", []byte("id,z,a\n1,\"<a href=\"\"x\"\">\",007\n"))}, specOf("p"))
	if err != nil || string(csv[0].Fields) != `{"id":"1","z":"<a href=\"x\">","a":"007"}` {
		t.Errorf("%s (%v)", csv[0].Fields, err)
	}
}

// TestIDsAreIdentity: equal prompts are different rows.
func TestIDsAreIdentity(t *testing.T) {
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"a","prompt":123}`+"\n"+`{"id":"A","prompt":123}`+"\n"+`{"id":3,"prompt":123}`, "{{.prompt}}"), "a=123", "A=123", "3=123")
	spec := specOf("{{.text}}")
	spec.IDColumn = RowNumbers
	for name, content := range map[string]string{
		"r.csv":   "text\n\"x\n\nx\"\n\ny\n",
		"r.jsonl": "\n{\"text\":\"x\"}\n\n{\"text\":\"y\"}\n",
	} {
		rows, err := read(t, Input{Path: file(t, name, []byte(content))}, spec)
		if err != nil || rows[0].ID != "1" || rows[1].ID != "2" {
			t.Errorf("%s: %+v (%v)", name, rows, err)
		}
	}
}
