package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestRepeats: rows that ask the same are found, by line; a line of a matrix is named
// once, however many rows it makes.
func TestRepeats(t *testing.T) {
	t.Parallel()
	r := &repeats{}
	for line, key := range []string{"aa00000000000001ff", "aa00000000000002ff", "aa00000000000001ff", "aa00000000000003ff", "aa00000000000001ff", "aa00000000000003ff"} {
		r.add(key, "a.csv", line+2)
		r.add("b"+key[1:], "a.csv", line+2)
	}
	if got := repeatNames(r.lines()); r.count() != 6 || got != "lines 4, 6 as line 2; line 7 as line 5" {
		t.Errorf("%d: %s", r.count(), got)
	}
	r.add("aa00000000000002ff", "b.csv", 3)
	if got := repeatNames(r.lines()); got != "a.csv:4, a.csv:6 as a.csv:2; b.csv:3 as a.csv:3; a.csv:7 as a.csv:5" {
		t.Error(got)
	}
	var none *repeats
	none.add("aa", "a.csv", 1)
}

// TestRepeatsAreNamed: what enqueue says that plan names is named, not three of it.
func TestRepeatsAreNamed(t *testing.T) {
	t.Parallel()
	r := &repeats{}
	for line := range 19 {
		r.add("aa00000000000001ff", "a.csv", line+2)
	}
	got := repeatNames(r.lines())
	for line := 3; line <= 20; line++ {
		if !strings.Contains(got+",", fmt.Sprintf(" %d,", line)) && !strings.Contains(got, fmt.Sprintf(" %d as line 2", line)) {
			t.Errorf("line %d is not in %q", line, got)
		}
	}
	for line := range 10 {
		r.add("aa00000000000001ff", "a.csv", line+21)
	}
	if got := repeatNames(r.lines()); !strings.HasSuffix(got, "; and 8 more (--output json has them)") {
		t.Error(got)
	}
}
