package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readDesign puts a YAML template into a spec.
func readDesign(t *testing.T, text string) (Spec, Design) {
	t.Helper()
	d, err := ReadDesign("shop/d.yaml", text, func(path string) ([]byte, error) {
		if path == "shop/s.json" {
			return []byte(`{"type":"object"}`), nil
		}
		return nil, errors.New("no file " + path)
	})
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(d.Template)
	s.System, s.Turns, s.Outputs, s.Settings = d.System, d.Turns, d.Outputs, d.Settings
	return s, d
}

// said is a request on one line.
func said(r Request) string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, t := range r.Conversation() {
		b.WriteString(" | " + t.Role)
		for _, p := range t.Parts {
			if p.File != nil {
				fmt.Fprintf(&b, " <%s %s>", p.File.Path, p.File.MIME)
				continue
			}
			b.WriteString(" " + p.Text)
		}
	}
	return b.String()
}

func TestConversation(t *testing.T) {
	spec, d := readDesign(t, `
system: |
  You sell {{.shop}}.
settings:
  temperature: 0.5
  max_output_tokens: 99
schema: s.json
turns:
  - text: "{{.greeting}}"
  - {role: model, text: Hello.}
  - from: examples
  - parts:
      - text: "Describe {{.name}}"
      - text: "{{with .note}}Note: {{.}}{{end}}"
`)
	if s := d.Settings; *s.Temperature != 0.5 || s.MaxOutputTokens != 99 || string(s.ResponseSchema) != `{"type":"object"}` || s.ResponseMIMEType != "application/json" {
		t.Errorf("settings %+v", s)
	}
	for fields, want := range map[string]string{
		`{"shop":"s","greeting":"Hi","name":"n","note":"x","examples":[{"role":"user","text":"q"},{"role":"assistant","content":"a"}]}`: "You sell s.\n | user Hi | model Hello. | user q | model a | user Describe n Note: x",
		`{"shop":"s","greeting":"","name":"n","note":"","examples":null}`:                                                               "You sell s.\n | model Hello. | user Describe n",
	} {
		if r, err := Render(spec, json.RawMessage(fields)); err != nil || said(r) != want {
			t.Errorf("%s\n got  %q (%v)\n want %q", fields, said(r), err, want)
		}
	}
	for examples, want := range map[string]string{
		`"x"`:                                  `field "examples": a string where turns are wanted`,
		`[{"role":"tool","text":"q"}]`:         `field "examples[0]": role "tool": want user or model`,
		`[{"role":"user","text":"q","n":"1"}]`: `field "examples[0]": a turn has no "n"`,
		`[{"text":"q"}]`:                       `field "examples[0]": the turn has no role`,
	} {
		_, err := Render(spec, json.RawMessage(`{"shop":"s","greeting":"","name":"n","note":"","examples":`+examples+`}`))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", examples, err, want)
		}
	}
	if _, err := Render(spec, json.RawMessage(`{"shop":"s","greeting":"","name":"","note":""}`)); err == nil || err.Error() != `shop/d.yaml` && !strings.Contains(err.Error(), `no field "examples"`) {
		t.Errorf("without the field: %v", err)
	}
}

// TestKeyOfDesign: what changes an answer changes the key, how it is written does not.
func TestKeyOfDesign(t *testing.T) {
	key := func(text string) string {
		spec, _ := readDesign(t, text)
		tmpl, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tmpl.Render(json.RawMessage(`{"a":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		return tmpl.Key(&r)
	}
	plain := specOf("say x")
	tmpl, err := Compile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if old := keyOfText(tmpl, "say x", ""); key("prompt: say {{.a}}") != old || key("turns: [{text: 'say {{.a}}'}] # as a turn") != old {
		t.Error("the same request has another key when a YAML template makes it")
	}
	seen := map[string]string{}
	for _, text := range []string{
		"prompt: say x", "prompt: say y", "prompt: say x\nsystem: s", "prompt: say x\nsettings: {seed: 1}", "prompt: say x\nschema: s.json",
		"turns: [{text: say}, {role: model, text: x}, {text: ''}, {text: z}]", "turns: [{text: say}, {text: x}, {text: z}]",
		"turns: [{parts: [{text: say}, {text: x}]}]", "turns: [{parts: [{text: sa}, {text: yx}]}]",
	} {
		k := key(text)
		if was, ok := seen[k]; ok {
			t.Errorf("%q has the key of %q", text, was)
		}
		seen[k] = text
	}
}

func TestOutputs(t *testing.T) {
	spec, _ := readDesign(t, `
system: be short
settings: {temperature: 0}
outputs:
  title: {prompt: "title of {{.name}}", schema: {type: object, properties: {b: {type: string}, a: {type: string}}}}
  text:
    system: be long
    turns: [{text: "{{.output}} of {{.name}}"}]
    settings: {max_output_tokens: 7}
`)
	if s := string(spec.Outputs[0].Settings.ResponseSchema); s == "" || strings.Index(s, `"b"`) > strings.Index(s, `"a"`) {
		t.Errorf("schema %s: want the properties in their order", s)
	}
	spec.Matrix = []Axis{{"lang", []string{"ja"}}}
	rows, err := read(t, Input{Path: file(t, "r.jsonl", []byte(`{"id":"1","name":"n"}`))}, spec)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	for i, want := range []string{"1/ja/title be short | user title of n", "1/ja/text be long | user text of n"} {
		if got := rows[i].ID + " " + said(rows[i].Request); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if s := rows[1].Settings; s.MaxOutputTokens != 7 || *s.Temperature != 0 || len(s.ResponseSchema) > 0 {
		t.Errorf("settings of text: %+v", s)
	}
	if base, output := spec.SplitRow("1/ja/text"); base != "1/ja" || output != "text" {
		t.Errorf("split into %q and %q", base, output)
	}
	tmpl, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows { // as a worker does it, from the fields alone
		r, err := tmpl.Render(row.Fields)
		if err != nil || tmpl.Key(&r) != row.Key || r.Output != rows[0].Output && r.Output != rows[1].Output {
			t.Errorf("%s: rendered %+v (%v)", row.ID, r, err)
		}
	}
	one := rows[0].Key
	spec.Outputs[1].Template, spec.Outputs[1].Turns = "other", nil
	again, err := read(t, Input{Path: file(t, "r.jsonl", []byte(`{"id":"1","name":"n"}`))}, spec)
	if err != nil || again[0].Key != one || again[1].Key == rows[1].Key {
		t.Errorf("a changed output changes its own rows' keys only (%v)", err)
	}
	if _, err := read(t, Input{Path: file(t, "o.jsonl", []byte(`{"id":"1","name":"n","output":"x"}`))}, spec); err == nil || !strings.Contains(err.Error(), `field "output": the row has a field of this name`) {
		t.Errorf("a row with a field output: %v", err)
	}
}

func TestDesignErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"prompt: a\nprompts: b":                                        "shop/d.yaml, line 2: unknown field \"prompts\"; there are: system, prompt, turns",
		"turns:\n  - role: assistant\n    text: x":                     "shop/d.yaml, line 2: role \"assistant\": want user or model",
		"turns:\n  - rol: user\n    text: x":                           "shop/d.yaml, line 2: unknown field \"rol\"",
		"prompt: a\nturns: [{text: b}]":                                "shop/d.yaml, line 1: prompt and turns: give one of them",
		"system: a":                                                    "shop/d.yaml: no prompt and no turns",
		"prompt: a\nsettings: {temperature: 3}":                        "shop/d.yaml, line 2: settings: temperature: 3; want 0 to 2",
		"prompt: a\nsettings: {temperature: warm}":                     "shop/d.yaml, line 2: settings: temperature: want a number, not warm",
		"prompt: a\nsettings:\n  seed: 1\n  temprature: 1":             "shop/d.yaml, line 4: settings: no setting is called \"temprature\"; there are: temperature, top_p",
		"prompt: a\nsettings:\n  max_output_tokens: 1.5":               "shop/d.yaml, line 3: settings: max_output_tokens: want a whole number, not 1.5",
		"prompt: a\nsettings: {stop_sequences: x}":                     "shop/d.yaml, line 2: settings: stop_sequences: want a list, not x",
		"prompt: a\nsettings: {response_schema: {}}":                   "shop/d.yaml, line 2: settings: response_schema: write it as schema:",
		"prompt: a\nsettings: hot":                                     "shop/d.yaml, line 2: settings: want names with values",
		"outputs:\n  a: 1":                                             "shop/d.yaml, line 2: a number stands where keys with values (key: value) are wanted",
		"prompt: a\nprompt: b":                                         "shop/d.yaml, line 2: \"prompt\" is there twice, first in line 1",
		"prompt: a\nschema: none.json":                                 "shop/d.yaml, line 2: schema: no file shop/none.json",
		"outputs:\n  a/b: {prompt: x}":                                 "shop/d.yaml, line 2: outputs: an output's name may have letters",
		"outputs:\n  a: {prompt: x}\n  a: {prompt: y}":                 "shop/d.yaml, line 3: ",
		"outputs:\n  - {name: a, prompt: x}\n  - {name: a, prompt: y}": "shop/d.yaml, line 3: outputs: two have the name \"a\"",
		"prompt: a\noutputs:\n  a: {prompt: x}":                        "shop/d.yaml, line 1: outputs have prompts of their own",
		"turns:\n- parts:\n  - {text: a, file: b}":                     "shop/d.yaml, line 3: turns: parts: a part has a text or a file",
		"turns:\n- {from: m, role: user}":                              "shop/d.yaml, line 2: a turn has from, or role and text",
		"prompt: [a":                                                   "shop/d.yaml, line 1: ",
	} {
		if _, err := ReadDesign("shop/d.yaml", text, func(p string) ([]byte, error) { return nil, errors.New("no file " + p) }); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\n got  %v\n want %s", text, err, want)
		}
	}
	// Faults of the templates in it, and of a row with them.
	for text, want := range map[string]string{
		"system: s\nprompt: |\n  one\n  {{nope}}":                 "d.yaml, line 4: there is no function nope; there are",
		"turns:\n- text: a\n- text: |\n    b\n    {{.city}}":      "(d.yaml, line 5)",
		"outputs:\n  a:\n    prompt: |\n      x\n      {{.city}}": "(d.yaml, line 5)",
	} {
		spec, d := readDesign(t, text)
		o := PrepareOptions{TemplateFile: "d.yaml", SystemFile: "d.yaml", TemplateLine: d.TemplateLine, SystemLine: d.SystemLine}
		_, err := Prepare(context.Background(), Input{Path: file(t, "r.csv", []byte("id,text\na,x\n"))}, spec, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// png is a picture of one pixel.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"

func TestFilesOfRows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("secret.png", png)
	write("in/a.png", png)
	write("in/empty.png", "")
	write("in/word.docx", "PK\x03\x04rest")
	write("in/latin.txt", "caf\xe9")
	if err := os.Symlink(filepath.Join(dir, "secret.png"), filepath.Join(dir, "in", "out.png")); err != nil {
		t.Fatal(err)
	}
	spec, _ := readDesign(t, "turns: [{parts: [{text: 'what is {{.id}}?'}, {file: '{{.image}}'}]}]")
	try := func(image string) ([]RenderedRow, error) {
		write("in/r.jsonl", `{"id":"r","image":`+encoded(image)+`}`)
		return read(t, Input{Path: filepath.Join(dir, "in", "r.jsonl")}, spec)
	}
	for image, want := range map[string]string{
		"a.png":                               " | user what is r? <a.png image/png>",
		"":                                    " | user what is r?",
		"data:image/jpeg;base64,/9j/4AAQSkY=": " | user what is r? <data:image/jpeg;base64,/9j/4AAQSkY= image/jpeg>",
		"data:,hello%20you":                   " | user what is r? <data:,hello%20you text/plain>",
	} {
		if rows, err := try(image); err != nil || said(rows[0].Request) != want {
			t.Errorf("%q: %v, want %s", image, err, want)
		}
	}
	for image, want := range map[string]string{
		"none.png":                       "no such file",
		"empty.png":                      "the file is empty",
		"word.docx":                      "the file is application/zip, which Gemini does not take",
		"latin.txt":                      "the file is text that is not UTF-8",
		".":                              "it is no file",
		"../secret.png":                  "it is outside of",
		"out.png":                        "it is outside of",
		filepath.Join(dir, "secret.png"): "it is outside of",
		"https://example.com/a.png":      "an address, which nightshift does not fetch",
		"data:image/png;base64,%%%":      "a data: URI that cannot be decoded",
	} {
		_, err := try(image)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `r.jsonl:1: row "r", field "image": file "`) {
			t.Errorf("%q: %v, want %s", image, err, want)
		}
	}
	before, _ := try("a.png")
	write("in/a.png", png+"x")
	if after, err := try("a.png"); err != nil || after[0].Key == before[0].Key {
		t.Errorf("a changed picture leaves the key as it was (%v)", err)
	}
}
