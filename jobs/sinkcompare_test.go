package jobs

import (
	"context"
	"path/filepath"
	"testing"
)

// TestCompareWithInput has a file with a and b done and c failed.
func TestCompareWithInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	first := prepared(t, "id,text\na,x\nb,y\nc,z\n", "{{.text}}")
	f := openSink(t, path)
	if d, err := f.Compare(context.Background(), first); err != nil || d != (SinkDifference{Missing: 3}) {
		t.Errorf("new file: %+v (%v)", d, err)
	}
	states := map[string]State{"a": Done, "b": Cached, "c": Failed}
	if err := first.Each(context.Background(), func(r RenderedRow) error {
		put(t, f, result(r.ID, r.Key, states[r.ID]))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	f = openSink(t, path)
	defer f.Close()
	for _, c := range []struct {
		name, rows, template string
		want                 SinkDifference
	}{
		{"the same", "id,text\na,x\nb,y\nc,z\n", "{{.text}}", SinkDifference{Missing: 1}},
		{"another template", "id,text\na,x\nb,y\nc,z\n", "new: {{.text}}", SinkDifference{Missing: 3, Changed: 2}},
		{"another field", "id,text\na,other\nb,y\nc,z\n", "{{.text}}", SinkDifference{Missing: 2, Changed: 1}},
		{"fewer rows", "id,text\na,x\n", "{{.text}}", SinkDifference{Others: 2}},
		{"more rows", "id,text\na,x\nb,y\nc,z\nd,x\n", "{{.text}}", SinkDifference{Missing: 2}},
		{"another input", "id,text\nr1,x\nr2,y\n", "{{.text}}", SinkDifference{Missing: 2, Others: 3}},
	} {
		if d, err := f.Compare(context.Background(), prepared(t, c.rows, c.template)); err != nil || d != c.want {
			t.Errorf("%s: %+v (%v), want %+v", c.name, d, err, c.want)
		}
	}
}

func prepared(t *testing.T, csv, template string) *Prepared {
	t.Helper()
	p, err := Prepare(context.Background(), Input{Path: file(t, "r.csv", []byte(csv))}, specOf(template), PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
