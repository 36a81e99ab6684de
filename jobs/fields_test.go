package jobs

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzMembers compares our cutting of objects with encoding/json's.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : [1,{"b":"}"}] , "c\u0041" : "\\\"" , "d":-1e5 , "e":null}`, `{"a":{},"b":[[]],"c":"]"}`, `{"":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil || !utf8.Valid(b) || loneSurrogate(b) != "" {
			return
		}
		got, err := members(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := map[string][]byte{}
		for _, m := range got {
			last[m.name] = m.raw
			if _, err := value(m.raw); err != nil {
				t.Errorf("%s: %v", m.raw, err)
			}
		}
		if len(last) != len(want) {
			t.Fatalf("%s: %d members, want %d", b, len(last), len(want))
		}
		for name, raw := range want {
			if !bytes.Equal(bytes.TrimSpace(raw), last[name]) {
				t.Errorf("%s: %q is %q, want %q", b, name, last[name], raw)
			}
		}
	})
}

// FuzzQuoted: what we write, encoding/json reads, and it has no line breaks.
func FuzzQuoted(f *testing.F) {
	f.Add("a\"\\\x00\n\u2028\u2029\u0085é<>&😀")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		q := appendQuoted(nil, s)
		var back string
		if err := json.Unmarshal(q, &back); err != nil || back != s {
			t.Errorf("%q became %s (%v)", s, q, err)
		}
		for _, brk := range []string{"\n", "\r", "\u2028", "\u2029", "\u0085"} {
			if bytes.Contains(q, []byte(brk)) {
				t.Errorf("%s has a line break", q)
			}
		}
	})
}
