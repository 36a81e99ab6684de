package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var testSchema = &field{name: "root", mark: true, keys: map[string]*field{
	"a": {name: "a", take: true},
	"b": {name: "b", mark: true, keys: map[string]*field{"c": {name: "c", take: true}}},
}}

// scanned gives what a scanner saw of a document that came in two pieces.
func scanned(first, second string) (string, scanState) {
	var b strings.Builder
	s := scanner{root: testSchema, on: func(f *field, raw []byte) { fmt.Fprintf(&b, "%s=%s;", f.name, raw) }}
	s.reset()
	s.push([]byte(first))
	s.push([]byte(second))
	return b.String(), s.state
}

// TestScannerAtEveryCut: what is found does not depend on how the bytes come.
func TestScannerAtEveryCut(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":1,"x":{"a":2},"b":{"c":"q\"\\","d":[1,{"c":3}]}}`:  `a=1;c="q\"\\";b=;root=;`,
		`[{"a":[1,"]"]} , {"a":{"k":"}"}}]`:                      `a=[1,"]"];root=;a={"k":"}"};root=;`,
		`{"b":[{"c":1},{"c":2}],"a":null}`:                       `c=1;b=;c=2;b=;a=null;root=;`,
		` { "a" : -1.5e3 , "b" : { } , "z" : "\\" } `:            `a=-1.5e3;b=;root=;`,
		`{"x":"` + strings.Repeat(`\\`, 9) + `","a":"é\u00e9😀"}`: `a="é\u00e9😀";root=;`,
		`{}`: `root=;`, `[]`: ``, `{"a":[]}`: `a=[];root=;`,
	} {
		if !json.Valid([]byte(doc)) {
			t.Fatalf("%s is no JSON", doc)
		}
		for i := range len(doc) + 1 {
			got, state := scanned(doc[:i], doc[i:])
			if got != want || state != scanDone {
				t.Fatalf("%s cut at %d: %s (state %d), want %s", doc, i, got, state, want)
			}
			if _, state := scanned(doc[:i], ""); state == scanDone && strings.TrimSpace(doc[i:]) != "" {
				t.Fatalf("%s: whole after %d bytes", doc, i)
			}
		}
	}
}

func TestScannerOnWhatIsNoJSON(t *testing.T) {
	for _, doc := range []string{"", "hello", "12", `"text"`, `{]`, `{"a"}`, `{"a":1]`, `[1}`, `{} {}`, `{,}`, `nul`, strings.Repeat(`[`, 100)} {
		if _, state := scanned(doc, ""); state == scanDone {
			t.Errorf("%s: a whole document", doc)
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"x\\"}]}`), 5)
	f.Add([]byte(`[{"a":"\""}]`), 7)
	f.Fuzz(func(t *testing.T, doc []byte, cut int) {
		cut = max(0, min(cut, len(doc)))
		at, state := scanned(string(doc[:cut]), string(doc[cut:]))
		once, whole := scanned(string(doc), "")
		if at != once || state != whole {
			t.Errorf("%q: %s (%d) in two pieces, %s (%d) in one", doc, at, state, once, whole)
		}
		if json.Valid(doc) && len(strings.TrimSpace(string(doc))) > 0 && strings.ContainsRune("{[", rune(strings.TrimSpace(string(doc))[0])) &&
			whole != scanDone && whole != scanBroken {
			t.Errorf("%q: valid, but state %d", doc, whole)
		}
	})
}
