package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
)

// TestDiffAndAccept goes from counts to a live file with the accepted values in it.
func TestDiffAndAccept(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	end := func(n int64, status, title, price string) {
		r := jobs.Result{Row: "r" + string(rune('0'+n)), Status: status}
		if status == "done" {
			r.Parsed = []byte(`{"title":"` + title + `","price":` + price + `}`)
		}
		_, err := s.be.store.Finish(t.Context(), jobs.Task{Run: s.run.ID, Index: n}, r)
		s.check(err)
	}
	end(0, "done", "New tea", "10.0")
	end(1, "done", "Old", "99")
	end(2, "failed", "", "")
	path := filepath.Join(t.TempDir(), "live.csv")
	s.check(os.WriteFile(path, []byte("id,name,price\nr0,Old tea,10\nr1,Old,\"20\"\nr2,x,1\nr3,z,4\nzz,y,2\n"), 0o600))

	diff := func(change func(*diffOptions)) (string, error) {
		s.out.Reset()
		s.err.Reset()
		o := &diffOptions{factory: s.f, Live: path, Key: "id", Map: map[string]string{"title": "name"}}
		change(o)
		err := runDiff(t.Context(), o, s.be, s.run)
		return s.out.String() + s.err.String(), err
	}
	got, err := diff(func(o *diffOptions) { o.N = 5 })
	s.check(err)
	for _, want := range []string{"title  name            1        1      0", "price  price           1        1      0", "r0 · title · changed (50 %)", "[-Old -]tea", "| {+New +}tea",
		"nothing to accept: 1 row", "not finished yet, so not compared: 7 rows",
		"not in the run, left as it is: 1 row (zz, …)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for flag, change := range map[string]func(*diffOptions){
		"--reject field=nope,change>1%": func(o *diffOptions) { o.Reject = []string{"field=nope,change>1%"} },
		"--accept id=r0,field=nope":     func(o *diffOptions) { o.Accept = []string{"id=r0,field=nope"} },
		"--field nope":                  func(o *diffOptions) { o.Fields = []string{"nope"} },
	} {
		var usage *usageError
		if _, err := diff(change); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), flag+`: the answers have no field "nope"; there are: title, price`) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	_, err = diff(func(o *diffOptions) { o.Accept, o.Reject = []string{"all"}, []string{"field=price,change>50%"} })
	s.check(err)

	s.err.Reset()
	s.out.Reset()
	o := &resultsOptions{factory: s.f, Out: "-", Format: "jsonl", accepted: acceptedOptions{Accepted: true, Into: path}}
	s.check(runResults(t.Context(), o, s.be, s.run))
	if got := s.out.String(); got != "id,name,price\nr0,New tea,10\nr1,Old,\"20\"\nr2,x,1\nr3,z,4\nzz,y,2\n" {
		t.Errorf("the new live file is %q", got)
	}
	s.out.Reset()
	edited := filepath.Join(t.TempDir(), "newer.csv")
	s.check(os.WriteFile(edited, []byte("id,name,price\nr0,By hand,10\n"), 0o600))
	o.accepted.Into = edited
	if err := runResults(t.Context(), o, s.be, s.run); err == nil || !strings.Contains(err.Error(), "1 accepted value not put in") ||
		!strings.Contains(s.err.String(), `r0, column name: left as it is, "By hand"`) || s.out.String() != "id,name,price\nr0,By hand,10\n" {
		t.Errorf("a value that was edited since: %v, %q, %s", err, s.out.String(), s.err.String())
	}
	s.out.Reset()
	o.accepted.Overwrite = true
	if err := runResults(t.Context(), o, s.be, s.run); err != nil || !strings.Contains(s.out.String(), "r0,New tea,10") {
		t.Errorf("with --overwrite: %v, %q", err, s.out.String())
	}
	// A key that a live object lacks is added; what has no place is named.
	for content, want := range map[string]string{"{\"id\": \"r0\"}\n": "{\"id\": \"r0\", \"name\": \"New tea\"}\n", "{\"id\": \"r1\"}\n": "", "id\nr0\n": ""} {
		s.out.Reset()
		s.err.Reset()
		o.accepted.Into = filepath.Join(t.TempDir(), map[bool]string{true: "l.jsonl", false: "l.csv"}[content[0] == '{'])
		s.check(os.WriteFile(o.accepted.Into, []byte(content), 0o600))
		err := runResults(t.Context(), o, s.be, s.run)
		named := err != nil && strings.HasPrefix(err.Error(), "1 accepted value not put in, since ") && strings.Contains(s.err.String(), "r0")
		if named != (want == "") || want == "" && s.out.String() != content || want != "" && s.out.String() != want {
			t.Errorf("into %q: %v, %q\n%s", content, err, s.out.String(), s.err.String())
		}
	}
	s.out.Reset()
	o.accepted.Overwrite = false
	o.accepted.Into = ""
	s.check(runResults(t.Context(), o, s.be, s.run))
	if got := s.out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"id":"r0"`) {
		t.Errorf("accepted rows are %s", got)
	}

	if _, err = diff(func(o *diffOptions) { o.Map = map[string]string{"title": "nam"} }); err == nil || !strings.Contains(err.Error(), "there are: id, name, price") {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err = diff(func(o *diffOptions) { o.Key = "name" }); err == nil || !strings.Contains(err.Error(), "--key names the column") {
		t.Errorf("ids that are no rows: %v", err)
	}
}
