package cli

import (
	"fmt"
	"strings"
	"testing"

	"nightshift/jobs"
)

// TestJoinAfterUpdate: an output that was added later stands behind all rows, and
// comes to its row all the same.
func TestJoinAfterUpdate(t *testing.T) {
	t.Parallel()
	join := &jobs.Join{Outputs: []string{"long", "short"}}
	lines := func(fn func([]byte) error) error {
		for _, id := range []string{"a/long", "b/long", "a/short", "b/short"} {
			if err := fn(fmt.Appendf(nil, `{"id":%q,"status":"done","output":%q}`, id, id)); err != nil {
				return err
			}
		}
		return nil
	}
	l, err := gather(lines, join)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out strings.Builder
	x := &export{lines: l.Each, join: join}
	if err := x.to(&out); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 2 || !strings.Contains(rows[0], "a/long") && !strings.Contains(rows[0], `"long":{`) || !strings.Contains(rows[1], `"short":{`) {
		t.Error(out.String())
	}
}
