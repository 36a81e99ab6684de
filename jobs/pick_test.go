package jobs

import (
	"fmt"
	"strings"
	"testing"
)

// TestPick: the same seed picks the same rows, in their order, each with the same
// chance, and they enqueue as the rows that they are.
func TestPick(t *testing.T) {
	t.Parallel()
	var csv strings.Builder
	csv.WriteString("id,name\n")
	for i := range 50 {
		fmt.Fprintf(&csv, "r%02d,n%d\n", i, i)
	}
	p := prepared(t, csv.String(), "{{.name}}")
	pick := func(n int, seed uint64) (ids []string) {
		t.Helper()
		q, err := p.Pick(t.Context(), n, seed)
		if err != nil {
			t.Fatal(err)
		}
		err = q.Each(t.Context(), func(row RenderedRow) error {
			if row.Prompt != "n"+strings.TrimLeft(row.ID[1:], "0") && row.ID != "r00" {
				t.Errorf("%s asks %q", row.ID, row.Prompt)
			}
			ids = append(ids, row.ID)
			return nil
		})
		if err != nil || int64(len(ids)) != q.Rows || q.Inputs == p.Inputs && n < 50 {
			t.Fatalf("%d of %d rows, %v", len(ids), q.Rows, err)
		}
		return ids
	}
	first := pick(10, 1)
	if again := pick(10, 1); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("the same seed picked %v and %v", first, again)
	}
	if other := pick(10, 2); fmt.Sprint(other) == fmt.Sprint(first) {
		t.Error("another seed picked the same")
	}
	if all := pick(50, 3); len(all) != 50 || all[0] != "r00" || all[49] != "r49" {
		t.Errorf("all rows: %v", all)
	}
	times := map[int64]int{}
	for seed := range uint64(2000) {
		for k := range choose(5, 20, seed) {
			times[k]++
		}
	}
	for k := range int64(20) {
		if times[k] < 400 || times[k] > 600 { // 500 are expected, five deviations are 97
			t.Errorf("row %d was picked %d times of 2,000, want about 500", k, times[k])
		}
	}
}
