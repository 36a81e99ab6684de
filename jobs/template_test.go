package jobs

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func TestNumbersStayAsTheyStand(t *testing.T) {
	for _, n := range []string{"2009532", "634866135153775564", "1e21", "0.1", "1.0", "0", "-0", "1E+2", "0.00", "123456789012345678901234567890"} {
		r, err := Render(specOf("{{.v}}"), json.RawMessage(`{"id":1,"v":`+n+`}`))
		if err != nil || r.Prompt != n {
			t.Errorf("%s became %q (%v)", n, r.Prompt, err)
		}
	}
}

func TestTemplates(t *testing.T) {
	row := `{"id":"a","name":"Ada","n":3,"big":634866135153775564,"price":1.50,"none":null,"yes":true,"empty":"",
		"tags":["x","y",3],"user":{"nick":"<ada>","age":36},"first name":"A","flag":"🇯🇵🇫🇷","family":"ab👨‍👩‍👧cd","zero":0}`
	for _, c := range []struct{ template, want string }{
		{"{{.none}}|{{.empty}}", "|"},
		{"{{if .none}}a{{else}}b{{end}}{{if .zero}}a{{else}}b{{end}}{{if .n}}a{{end}}", "bba"},
		{"{{.user.nick}} {{.user.age}}", "<ada> 36"},
		{"{{.tags}} {{.user}}", `["x","y",3] {"age":36,"nick":"<ada>"}`},
		{"{{range $i, $t := .tags}}{{if $i}}, {{end}}{{$t}}{{end}}", "x, y, 3"},
		{"{{range .tags}}{{$.name}}{{end}}", "AdaAdaAda"},
		{`{{index . "first name"}} {{index .tags 2}} {{index .user "age"}}`, "A 3 36"},
		{`{{if has . "city"}}{{.city}}{{else}}none{{end}}`, "none"},
		{`{{get . "city" | default "?"}}{{.empty | default "-"}}{{.name | default "-"}}`, "?-Ada"},
		{`{{printf "%05d %.1f %s %v %x" .n .price .n .big .n}}`, "00003 1.5 3 634866135153775564 3"},
		{`{{eq .n 3}} {{eq .n 3.0}} {{ne .price 1.5}} {{gt .price 1}} {{le .big 634866135153775563}} {{eq .name "Bob" "Ada"}}`, "true true false true false true"},
		{`{{upper .name}} {{.name | lower | printf "%s!"}} {{join "/" .tags}} {{len .tags}}`, "ADA ada! x/y/3 3"},
		{`{{truncate 1 .flag}}|{{truncate 3 .flag}}|{{truncate 3 .family}}|{{truncate 7 .family}}|{{truncate 8 .family}}`, "|🇯🇵|ab|ab👨‍👩‍👧|ab👨‍👩‍👧c"},
		{`{{json .user}} {{json .name}} {{json .price}} {{json .none}}`, `{"age":36,"nick":"<ada>"} "Ada" 1.50 null`},
		{`{{indent 2 "a\nb"}} {{replace "d" "t" .name}} {{split "," "a,b"}} {{trim " x "}}`, "  a\n  b Ata [\"a\",\"b\"] x"},
		{`{{contains "d" .name}}{{hasPrefix "A" .name}}{{hasSuffix "A" .name}}`, "truetruefalse"},
		{`{{define "greet"}}Hi {{.name}}{{end}}{{template "greet" .}}`, "Hi Ada"},
		{`{{with .user}}{{.nick}}{{end}}{{and .yes .n}}{{not .yes}}`, "<ada>3false"},
		{`{{if and .name (gt (len .tags) 2)}}many{{end}}`, "many"},
	} {
		got, err := Render(specOf(c.template), json.RawMessage(row))
		if err != nil || got.Prompt != c.want {
			t.Errorf("%s\n got  %q (%v)\n want %q", c.template, got.Prompt, err, c.want)
		}
	}
}

func TestNoValueNeverReachesAPrompt(t *testing.T) {
	row := json.RawMessage(`{"id":"a","user":{"nick":"x"},"none":null,"list":[1]}`)
	for _, tmpl := range []string{"{{.city}}", "{{$.city}}", "{{.user.name}}", `{{index . "city"}}`, `{{index .user "name"}}`, "{{index .list 5}}", "{{.none.name}}", "{{with .user}}{{.x}}{{end}}"} {
		got, err := Render(specOf(tmpl), row)
		if err == nil || strings.Contains(got.Prompt, "no value") {
			t.Errorf("%s gave %q (%v), want an error", tmpl, got.Prompt, err)
		}
	}
}

func TestTemplateErrorsNameTheLine(t *testing.T) {
	for tmpl, want := range map[string]string{
		"a\nb {{.x":         "template, line 2: a }} that ends the {{ is missing",
		"a\n\n{{nope .x}}":  `template, line 3: there is no function nope`,
		"{{if .x}} unended": "template, line 1: the template ends before an {{end}}",
		"a\n{{if .x}}{{template \"greet\" .}}{{end}}": "template, line 2: template \"greet\" is not defined: {{define \"greet\"}}…{{end}} is missing",
		"caf\xe9": "template: invalid UTF-8",
	} {
		if _, err := Compile(specOf(tmpl)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", tmpl, err, want)
		}
	}
	spec := specOf("x")
	spec.System = "{{end}}"
	if _, err := Compile(spec); err == nil || !strings.HasPrefix(err.Error(), "system instruction, line 1: ") {
		t.Errorf("system instruction: %v", err)
	}
}

func TestErrorsNameTheTemplatesFile(t *testing.T) {
	in := Input{Path: file(t, "r.csv", []byte("id,text\na,x\n"))}
	o := PrepareOptions{TemplateFile: "C:greet.tmpl", SystemFile: "tone.txt"}
	for _, c := range []struct{ template, system, want string }{
		{"{{nope}}", "x", `C:greet.tmpl, line 1: there is no function nope`},
		{"x", "\n{{nope}}", `tone.txt, line 2: there is no function nope`},
		{"{{.city}}", "x", "the template uses it (C:greet.tmpl, line 1)"},
		{"x", "{{.city}}", "the template uses it (tone.txt, line 1)"},
		{"x\n{{printf \"%d\" .text}}", "x", "row \"a\": C:greet.tmpl, line 2: printf \"%d\" does not fit its values: it gives %!d(string=x)\n    %v takes any value"},
		{"{{index .text 1}}", "x", "C:greet.tmpl, line 1: {{index .text 1}}: index wants a list or an object, not a string\n    the template has to hold for every row"},
	} {
		spec := specOf(c.template)
		spec.System = c.system
		if _, err := Prepare(context.Background(), in, spec, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v, want %s", c.template, c.system, err, c.want)
		}
	}
}

func TestReadText(t *testing.T) {
	for content, want := range map[string]string{
		"Hello {{.name}}\n": "Hello {{.name}}\n",
		"\xef\xbb\xbfHello": "Hello",
		encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Grüße"): "Grüße",
	} {
		if got, err := ReadText(file(t, "t.tmpl", []byte(content))); err != nil || got != want {
			t.Errorf("%q: %q (%v)", content, got, err)
		}
	}
	for content, want := range map[string]string{
		"Sprich über\n\xfcber Stra\xdfen": "t.tmpl:2:1: invalid UTF-8 (byte 0xFC)\n    it looks like windows-1252: save the file as UTF-8",
		"a\x00b":                          "t.tmpl:1:2: a NUL byte: not a text file\n    save the file as UTF-8",
		"x caf\xc3":                       "t.tmpl:1:6: invalid UTF-8 (byte 0xC3)\n    ",
	} {
		_, err := ReadText(file(t, "t.tmpl", []byte(content)))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--encoding") {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	if _, err := ReadText("absent.tmpl"); err == nil || err.Error() != "absent.tmpl: no such file" {
		t.Errorf("absent: %v", err)
	}
}

func TestSystemInstructionIsATemplate(t *testing.T) {
	spec := specOf("{{.text}}")
	spec.System = "Answer in {{.lang}}."
	r, err := Render(spec, json.RawMessage(`{"text":"x","lang":"ja"}`))
	if err != nil || r.System != "Answer in ja." {
		t.Errorf("%q (%v)", r.System, err)
	}
}

// keyOfText is the key of a prompt under a run's own settings.
func keyOfText(t *Template, prompt, system string) string {
	return t.Key(&Request{Prompt: prompt, System: system, Settings: t.forms[0].settings})
}

// TestKey: everything that changes an answer changes the key.
func TestKey(t *testing.T) {
	temp, other := float32(0.5), float32(0)
	base := specOf("x")
	keys := map[string]string{}
	changes := map[string]func(*Spec){
		"base":        func(*Spec) {},
		"kind":        func(s *Spec) { s.Kind = Embed },
		"model":       func(s *Spec) { s.Model = "gemini-y" },
		"temperature": func(s *Spec) { s.Settings.Temperature = &temp },
		"zero":        func(s *Spec) { s.Settings.Temperature = &other },
	}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		changes["settings "+f.Name] = func(s *Spec) { someValue(t, reflect.ValueOf(&s.Settings).Elem().Field(i)) }
	}
	for name, change := range changes {
		spec := base
		change(&spec)
		tmpl, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		for where, key := range map[string]string{"": keyOfText(tmpl, "p", "s"), " other prompt": keyOfText(tmpl, "q", "s"), " other system": keyOfText(tmpl, "p", "t"), " shifted": keyOfText(tmpl, "ps", "")} {
			if was, ok := keys[key]; ok {
				t.Errorf("%s%s has the key of %s", name, where, was)
			}
			keys[key] = name + where
		}
	}
	same := base
	same.Model, same.Name, same.Feature, same.Priority = "models/gemini-x", "n", "f", High
	a, _ := Compile(base)
	b, _ := Compile(same)
	if keyOfText(a, "p", "") != keyOfText(b, "p", "") {
		t.Error("what does not change an answer changes its key")
	}
}

// someValue sets a field to what is not its zero, whatever its type.
func someValue(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case *float32, *int32:
		v.Set(reflect.New(v.Type().Elem()))
		v.Elem().Set(reflect.ValueOf(7).Convert(v.Type().Elem()))
	case int32:
		v.SetInt(7)
	case string:
		v.SetString("x")
	case []string:
		v.Set(reflect.ValueOf([]string{"x"}))
	case json.RawMessage:
		v.SetBytes([]byte(`{"type":"object"}`))
	default:
		t.Fatalf("a setting of type %s: say here what one is", v.Type())
	}
}

// TestTemplateFaultsInPlainWords: what text/template says of Go's types is said of
// the row and the template.
func TestTemplateFaultsInPlainWords(t *testing.T) {
	row := json.RawMessage(`{"id":"1","a":{"b":1},"n":null,"l":[1,2]}`)
	for text, want := range map[string]string{
		"{{.a.b.c}}":                "template, line 1: .a.b is no object, so it has no field c",
		"x\n{{.n.x}}":               "template, line 2: .n is no object, so it has no field x",
		"{{.l.x.y}}":                "template, line 1: .l is no object, so it has no field x",
		"{{range .a.b}}{{end}}":     "template, line 1: {{range .a.b}} wants a list or an object",
		"{{range $i := .n}}{{end}}": "template, line 1: {{range .n}} wants a list or an object",
		"{{index .l 5}}":            "template, line 1: {{index .l 5}}: item 5 of a list of 2",
		"{{slice .l 1 9}}":          "template, line 1: {{slice .l 1 9}}: index out of range: 9",
		"{{lt .n 1}}":               "template, line 1: {{lt .n 1}}: null and a number cannot be compared",
		"{{call .a}}":               "template, line 1: .a is a value of the row, and no function",
		"{{nofunc .a}}":             "template, line 1: there is no function nofunc; there are, beside those of Go's templates: contains, default",
		"{{.a":                      "template, line 1: a }} that ends the {{ is missing",
		"{{if .a}}x":                "template, line 1: the template ends before an {{end}} that is wanted",
		"{{end}}":                   "template, line 1: an {{end}} too many",
	} {
		_, err := Render(Spec{Kind: Generate, Model: "m", Template: text}, row)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", text, err, want)
		}
	}
}

// TestCapitalsOfColumns: a name that differs from a column's by capitals only is told
// the column's.
func TestCapitalsOfColumns(t *testing.T) {
	for _, c := range []struct{ name, text, prompt, want string }{
		{"a.csv", "ID,x\n1,2\n", "{{.x}}", "capitals count: give --id-column ID"},
		{"a.jsonl", `{"ID":1,"x":2}`, "{{.x}}", "capitals count: give --id-column ID"},
		{"b.csv", "id,City\n1,2\n", "{{.city}}", "capitals count: write {{.City}}"},
	} {
		_, err := Prepare(context.Background(), Input{Path: file(t, c.name, []byte(c.text))}, Spec{Kind: Generate, Model: "m", Template: c.prompt}, PrepareOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	p, err := Prepare(context.Background(), Input{Path: file(t, "c.csv", []byte("A,a\nx,1\nX,2\n"))}, Spec{Kind: Generate, Model: "m", Template: "{{.A}}{{.a}}", IDColumn: "A"}, PrepareOptions{})
	if err != nil || p.Rows != 2 {
		t.Fatalf("columns and ids that differ by capitals: %v", err)
	}
	_ = p.Close()
}

// TestWrongFolderIsSaidOnce: and not for each row that names a file.
func TestWrongFolderIsSaidOnce(t *testing.T) {
	in := Input{Path: file(t, "r.csv", []byte("id,f\n1,a.png\n2,b.png\n"))}
	spec := Spec{Kind: Generate, Model: "m", Turns: []TurnTemplate{{Role: RoleUser, Parts: []PartTemplate{{File: "{{.f}}"}}}}}
	for dir, want := range map[string]string{"/no/such/folder": "--files /no/such/folder: there is no such folder", in.Path: "it is a file, not a folder"} {
		_, err := Prepare(context.Background(), in, spec, PrepareOptions{Files: dir})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("got %v, want %s once", err, want)
		}
	}
}
