package tenants

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzDraft: a body that is taken and found good is within the bounds of what can be
// enforced, and is taken again as it is sent back; one that is not is told its fields,
// each once and in a few words.
func FuzzDraft(f *testing.F) {
	for _, body := range []string{
		`{"weight":4,"limits":{"rpm":300,"usd_per_day":null}}`, `{"limits":{"rpm":3e2}}`, `{"limits":{"rpm":9007199254740993}}`, `{"limits":{"rpm":-1,"nope":2}}`, `{"weight":"4"}`, `{"name":"acme","teams":[]}`, `{"expires":"soon"}`,
		`{"Weight":1,"weight":2}`, `null`, `[]`, `{"limits":[]}`, `{"weight":1.5,"limits":{"rpm":"x"}}`, ``, `{`, `{"a":1}{}`, `{"limits":null}`, `{"":0}`, `{"note":"` + strings.Repeat("x", 3000) + `"}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		d, err := draftOf(body)
		if err != nil {
			all := faults(err)
			if len(all) == 0 {
				t.Fatalf("%q: %v", body, err)
			}
			for _, one := range all {
				if one.Field == "" || one.Why == "" || len(one.Error()) > 1000 {
					t.Errorf("%q: %q: %q", body, one.Field, one.Why)
				}
			}
			return
		}
		if d.Weight != nil && (*d.Weight < 1 || *d.Weight > 1000) {
			t.Errorf("%q has weight %d", body, *d.Weight)
		}
		for name, n := range d.Limits {
			if _, known := Shorthand(name); !known || n != nil && (*n < 1 || *n > mostAmount) {
				t.Errorf("%q limits %q", body, name)
			}
		}
		if d.Limits == nil {
			d.Limits = Limits{} // none either way
		}
		sent, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := draftOf(string(sent))
		if back, _ := json.Marshal(again); err != nil || string(back) != string(sent) {
			t.Errorf("%q is %s, and that %s, %v", body, sent, back, err)
		}
	})
}

func draftOf(body string) (d Draft, err error) {
	v := &visit{r: httptest.NewRequest("PUT", "/", strings.NewReader(body))}
	if err := v.read(&d, answersOf...); err != nil {
		return d, err
	}
	return d, d.check()
}

// FuzzHeaders: of the entity tags of a header those count that are whole and strong, in
// one line or several; a number of the query is one, and nothing besides.
func FuzzHeaders(f *testing.F) {
	for _, text := range []string{`"a", "b"`, `W/"a"`, `*`, `"a`, `"",""`, `"a" , *,`, `""`, "10", "10\n5", " 7", "0x10", "1_0", "1e2", "+3", "-0"} {
		f.Add(text, "x1")
	}
	f.Fuzz(func(t *testing.T, text, tag string) {
		if strings.ContainsAny(tag, "\", ") || tag == "" || tag != strings.TrimSpace(tag) {
			tag = "plain"
		}
		for _, headers := range [][]string{{`"` + tag + `"`}, {text, `"` + tag + `"`}, {`W/"x", "` + tag + `" , "y"`}} {
			if !containsTag(tagsOf(headers), tag) && !strings.Contains(text, `"`) {
				t.Errorf("%q has no %q", headers, tag)
			}
		}
		if containsTag(tagsOf([]string{`W/"` + tag + `"`}), tag) {
			t.Errorf("a weak %q counts", tag)
		}
		for _, got := range tagsOf([]string{text}) {
			if got != "*" && !strings.Contains(text, `"`+got+`"`) {
				t.Errorf("%q has no %q", text, got)
			}
		}
		v := &visit{r: httptest.NewRequest("GET", "/?limit="+url.QueryEscape(text), nil)}
		n, err := v.number("limit", -1, 1, 1000)
		want, wrong := strconv.Atoi(text)
		if err != nil && len(faults(err)) != 1 || text != "" && (err == nil) != (wrong == nil && want >= 1 && want <= 1000) || err == nil && text != "" && n != want {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	})
}

func containsTag(tags []string, tag string) bool {
	for _, one := range tags {
		if one == tag {
			return true
		}
	}
	return false
}
