package jobs

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
)

// TestStandInFile has a file with a and b done and c failed.
func TestStandInFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	const rows, template = "id,text\na,x\nb,y\nc,z\n", "{{.text}}"
	f := openSink(t, path)
	states := map[string]State{"a": Done, "b": Cached, "c": Failed}
	if err := prepared(t, rows, template).Each(context.Background(), func(r RenderedRow) error {
		res := result(r.ID, r.Key, states[r.ID])
		res.Fields = r.Fields
		put(t, f, res)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	fields, other := "the rows' fields", "template, model, settings or files"
	for _, c := range []struct {
		name, path, rows, template string
		want                       Stand
	}{
		{"the same", path, rows, template, Stand{Same: 2, Open: 1}},
		{"a changed row", path, "id,text\na,other\nb,y\nc,z\n", template, Stand{Same: 1, Open: 1, Stale: 1, Why: []StaleWhy{{fields, 1}}}},
		{"another template", path, rows, "new: {{.text}}", Stand{Open: 1, Stale: 2, Why: []StaleWhy{{other, 2}}}},
		{"both", path, "id,text\na,other\nb,y\n", "new: {{.text}}", Stand{Stale: 2, Why: []StaleWhy{{fields, 1}, {other, 1}}}},
		{"a new row", path, "id,text\na,x\nd,x\n", template, Stand{Same: 1, New: 1}},
		{"no file", path + ".none", rows, template, Stand{New: 3}},
	} {
		got, err := StandInFile(context.Background(), c.path, prepared(t, c.rows, c.template), nil)
		if err != nil || !slices.Equal(got.Why, c.want.Why) {
			t.Errorf("%s: %+v (%v), want %+v", c.name, got, err, c.want)
		}
		if got.New != c.want.New || got.Same != c.want.Same || got.Open != c.want.Open || got.Stale != c.want.Stale || got.Failed+got.Unseen != 0 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
