package cli

import "testing"

// TestQuantiles: a person's answer is charged by the middle one, and the file
// changes what it names and nothing else.
func TestQuantiles(t *testing.T) {
	part := 0.9
	c := Config{Classes: map[string]ClassConfig{"bulk": {OutputQuantile: &part}, "notify": {}}}
	got := c.quantiles()
	if got["interactive"] != 500_000 || got["bulk"] != 900_000 || got["notify"] != 0 {
		t.Errorf("%v", got)
	}
	if defaultQuantiles["bulk"] != 0 {
		t.Error("the table was changed")
	}
}
