package jobs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput has what a user sees, word for word.
func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		name, content, template string
		want                    string
	}{
		{"empty.csv", "", "{{.text}}", "empty.csv: the input is empty\n    check the command or file that it comes from"},
		{"blank.jsonl", "\n \n", "{{.text}}", "blank.jsonl: the input is empty\n    check the command or file that it comes from"},
		{"header only.csv", "id,text\n", "{{.text}}", "header only.csv: the input has no rows\n    check the command or file that it comes from"},
		{"no header.csv", "1,hello\n2,world\n", "{{.text}}", "no header.csv:1: field \"1\": a number instead of a column's name\n    the first line must be the header: add one"},
		{"no id.csv", "key,text\na,x\n", "{{.text}}", "no id.csv:1: field \"id\": no such column, which is to identify the rows; there are: key, text\n    name another with --id-column, or take the row's number with --id-column '#'; if line 1 is not a header, add one"},
		{"no id.jsonl", "{\"text\":\"x\"}\n", "{{.text}}", "no id.jsonl:1: field \"id\": the row has no such field, which is to identify it\n    add it, name another with --id-column, or take the row's number with --id-column '#'"},
		{"two columns.csv", "id,text,text\na,x,y\n", "{{.text}}", "two columns.csv:1: field \"text\": columns 2 and 3 have the same name\n    rename one"},
		{"nameless column.csv", "id,text,\na,x,\n", "{{.text}}", "nameless column.csv:1: column 3 has no name\n    name it, or remove the comma too many"},
		{"semicolons.csv", "id;text\na;x\n", "{{.text}}", "semicolons.csv:1: the columns seem to be separated by semicolons\n    give --delimiter ';'"},
		{"tabs.csv", "id\ttext\na\tx\n", "{{.text}}", "tabs.csv:1: the columns seem to be separated by tabs\n    give --delimiter tab"},
		{"duplicate.csv", "id,text\na,x\nb,y\na,z\n", "{{.text}}", "duplicate.csv:4: row \"a\": the id was used in line 2 already\n    each row needs an id of its own"},
		{"1 and 1.jsonl", "{\"id\":\"1\",\"text\":\"x\"}\n{\"id\":1,\"text\":\"y\"}\n", "{{.text}}", "1 and 1.jsonl:2: row \"1\": the id was used in line 1 already\n    each row needs an id of its own"},
		{"empty id.csv", "id,text\n,x\n", "{{.text}}", "empty id.csv:2: field \"id\": the row's id is empty\n    each row needs an id of its own: a text or a number"},
		{"null id.jsonl", "{\"id\":null,\"text\":\"x\"}\n", "{{.text}}", "null id.jsonl:1: field \"id\": null as the row's id\n    each row needs an id of its own: a text or a number"},
		{"ragged.csv", "id,text\na,x,y\nb\n", "{{.text}}", "ragged.csv:2: 3 cells, the header has 2\n    a cell with a comma or a line break in it needs quotes around it\nragged.csv:3: 1 cell, the header has 2\n    a cell with a comma or a line break in it needs quotes around it"},
		{"quote first.csv", "id,text\na,\"Best\" of 2026\n", "{{.text}}", "quote first.csv:2:9: something follows a cell's closing quote\n    double the quotes inside a quoted cell (\"\"\"Best\"\" of 2026\"); nothing, not even a space, may follow the closing quote"},
		{"space after quote.csv", "id,text,b\na,\"x\"   ,y\n", "{{.text}}", "space after quote.csv:2:6: something follows a cell's closing quote\n    double the quotes inside a quoted cell (\"\"\"Best\"\" of 2026\"); nothing, not even a space, may follow the closing quote"},
		{"quote inside.csv", "id,text\na,the \"best\"\n", "{{.text}}", "quote inside.csv:2:7: a quote in a cell that does not begin with one\n    put the whole cell in quotes and double those inside: \"the \"\"best\"\" one\""},
		{"unmatched.csv", "id,text\na,\"x\nb,y\nc,z\n", "{{.text}}", "unmatched.csv:2:3: the quote that begins here is not closed\n    close it; if it is a part of the text, put the whole cell in quotes and double it"},
		{"nul.csv", "id,text\na,x\x00y\n", "{{.text}}", "nul.csv:2:4: a NUL byte: not a text file\n    if it is UTF-16 (Excel's \"Unicode text\"), give --encoding utf-16"},
		{"utf8.jsonl", "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"日本\",\"text\":\"\xff\"}\n", "{{.text}}", "utf8.jsonl:2:20: invalid UTF-8 (byte 0xFF)\n    the rest is UTF-8: repair this place"},
		{"cut utf8.csv", "id,text\na,x\xe6\x97", "{{.text}}", "cut utf8.csv:2:4: invalid UTF-8 (byte 0xE6)\n    the input ends inside a character: it is cut short, or not UTF-8 (then name its encoding with --encoding)"},
		{"missing field.csv", "id,text\na,x\nb,y\n", "Hi {{.city}}", "missing field.csv:1: field \"city\": no such column, and the template uses it (template, line 1); there are: id, text\n    rename the column or the field in the template; if line 1 is not a header, add one"},
		{"missing field.jsonl", "{\"id\":\"a\",\"city\":\"x\"}\n{\"id\":\"b\"}\n", "\nHi {{.city}}", "missing field.jsonl:2: row \"b\", field \"city\": the row has no such field, and the template uses it (template, line 2)\n    add it (it may be empty), or write {{if has . \"city\"}}…{{end}} around it"},
		{"nested.jsonl", "{\"id\":\"a\",\"user\":{\"nick\":\"x\"}}\n", "{{.user.name}}", "nested.jsonl:1: row \"a\", field \"user.name\": the row has no such field, and the template uses it (template, line 1)\n    add it (it may be empty), or write {{if has . \"user.name\"}}…{{end}} around it"},
		{"index.jsonl", "{\"id\":\"a\"}\n", "{{index . \"first name\"}}", "index.jsonl:1: row \"a\", field \"first name\": the row has no such field, and the template uses it (template, line 1)\n    add it (it may be empty), or write {{if has . \"first name\"}}…{{end}} around it"},
		{"empty prompt.csv", "id,text\na,\"  \"\n", "{{.text}}", "empty prompt.csv:2: row \"a\": the rendered prompt is empty\n    fill the fields that the template uses, or leave the row out"},
		{"pretty.json", "{\n  \"id\": \"a\"\n}\n", "x", "pretty.json:1: the JSON object goes on over several lines, but one object per line is expected (JSONL)\n    convert it: jq -c . FILE"},
		{"broken.jsonl", "{\"id\":\"a\"}\n{\"id\":\"b\",}\n42\n", "x", "broken.jsonl:2:11: invalid JSON: invalid character '}' looking for beginning of object key string\n    each line must be one whole JSON object\nbroken.jsonl:3: a JSON value that is not an object\n    write the row as {\"id\": …, \"field\": …}"},
		{"surrogate.jsonl", `{"id":"a","text":"\ud83d\ude00 ok"}` + "\n" + `{"id":"b","text":"\\ud83d"}` + "\n" + `{"id":"c","text":"half \ud83d"}` + "\n", "{{.text}}", "surrogate.jsonl:3: row \"c\", field \"text\": half a character (\\ud83d), which is no text\n    repair it where the file is made: an emoji was probably cut in two"},
		{"twice.jsonl", `{"id":"a","text":"x","text":"y"}`, "{{.text}}", "twice.jsonl:1: row \"a\", field \"text\": the field occurs twice in this object\n    remove one"},
		{"wrong type.jsonl", `{"id":"a","tags":"x"}`, `{{join ", " .tags}}`, "wrong type.jsonl:1: row \"a\": template, line 1: {{join \", \" .tags}}: join wants a list, not a string\n    the template has to hold for every row: write {{if …}}…{{end}} around this place, or mend the row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{Path: file(t, c.name, []byte(c.content))}
			if got := refused(t, in, specOf(c.template)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestDamagedArchives(t *testing.T) {
	whole := gz(t, strings.Repeat("{\"id\":\"a\",\"text\":\"x\"}\n", 1000))
	msg := refused(t, Input{Path: file(t, "r.jsonl.gz", whole[:len(whole)-20])}, specOf("{{.text}}"))
	if !strings.Contains(msg, "the gzip data is cut short: its end is missing") {
		t.Error(msg)
	}
	bad := bytes.Clone(whole)
	bad[len(bad)-5] ^= 1
	if msg = refused(t, Input{Path: file(t, "r.gz", bad)}, specOf("{{.text}}")); !strings.Contains(msg, "the gzip data is damaged") {
		t.Error(msg)
	}
	msg = refused(t, Input{Path: file(t, "r.csv.gz", gz(t, "id,text\n"+strings.Repeat("a,x\n", 5000))), MaxBytes: 10_000}, specOf("{{.text}}"))
	if !strings.Contains(msg, "larger than 9.8 KiB, unpacked\n    split it, or raise the limit with --max-input") {
		t.Error(msg)
	}
	if msg = refused(t, Input{Path: file(t, "rows.xlsx", []byte("PK\x03\x04 and more"))}, specOf("{{.text}}")); !strings.Contains(msg, "ZIP file") || !strings.Contains(msg, "CSV") {
		t.Errorf("a workbook: %s", msg)
	}
}

// TestRecordCap has an unmatched quote near the beginning of a file that is
// larger than a record may be.
func TestRecordCap(t *testing.T) {
	csv := "id,text\na,\"x\n" + strings.Repeat("b,y\n", 100_000)
	if msg := refused(t, Input{Path: file(t, "r.csv", []byte(csv)), MaxRecord: 50_000}, specOf("{{.text}}")); !strings.HasPrefix(msg, "r.csv:2:3: a quote begins here and is not closed within 49 KiB\n    close it; --max-record raises the limit") {
		t.Error(msg)
	}
	jsonl := `{"id":"a","text":"` + strings.Repeat("x", 600_000) + `"}`
	if msg := refused(t, Input{Path: file(t, "r.jsonl", []byte(jsonl)), MaxRecord: 500_000}, specOf("{{.text}}")); !strings.HasPrefix(msg, "r.jsonl:1: a line of more than 488 KiB\n    one JSON object per line is expected; --max-record raises the limit") {
		t.Error(msg)
	}
}

func TestProblemsAreListedUpToACap(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,text\n")
	for range 30 {
		b.WriteString("a,x,y\n")
	}
	_, err := read(t, Input{Path: file(t, "r.csv", []byte(b.String()))}, specOf("{{.text}}"))
	var ie *InputError
	if !errors.As(err, &ie) || ie.Total != 30 || len(ie.Problems) != MaxProblems || !strings.HasSuffix(err.Error(), "\nand 10 more") {
		t.Errorf("%v", err)
	}
}

func TestNoSuchInput(t *testing.T) {
	dir := t.TempDir()
	for in, want := range map[string]string{
		filepath.Join(dir, "nothing.csv"): "no such file",
		dir:                               "is a folder",
	} {
		if _, err := read(t, Input{Path: in}, specOf("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if _, err := read(t, Input{Path: "-"}, specOf("x")); err == nil || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("no stdin: %v", err)
	}
	empty := Input{Path: "-", Stdin: strings.NewReader("")}
	if _, err := read(t, empty, specOf("x")); err == nil || !strings.Contains(err.Error(), "standard input: the input is empty") {
		t.Errorf("empty stdin: %v", err)
	}
}

// TestChangedBetweenPasses: what is enqueued is what was checked.
func TestChangedBetweenPasses(t *testing.T) {
	path := file(t, "r.csv", []byte("id,text\na,x\n"))
	p, err := Prepare(context.Background(), Input{Path: path}, specOf("{{.text}}"), PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("id,text\na,x\na,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = p.Each(context.Background(), func(RenderedRow) error { return nil })
	var ie *InputError
	if !errors.As(err, &ie) || !strings.Contains(err.Error(), "was changed while it was being read") {
		t.Errorf("got %v", err)
	}
}

func TestCheckNamesRowAndLine(t *testing.T) {
	path := file(t, "r.csv", []byte("id,text\na,x\nb,long long\n"))
	_, err := Prepare(context.Background(), Input{Path: path}, specOf("{{.text}}"), PrepareOptions{Check: func(r RenderedRow) error {
		if len(r.Prompt) > 5 {
			return &Problem{What: "9 tokens, the model takes 5", Remedy: "shorten it"}
		}
		return nil
	}})
	if err == nil || err.Error() != path+":3: row \"b\": 9 tokens, the model takes 5\n    shorten it" {
		t.Errorf("got %v", err)
	}
}
