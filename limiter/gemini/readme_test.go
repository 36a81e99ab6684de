package gemini_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample: the README's code for a Go service is the example's,
// which is compiled and run.
func TestReadmeShowsTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("the README has no Go code")
	}
	for _, b := range blocks {
		code, _, _ := strings.Cut(b, "```")
		if !strings.Contains(string(example), code) {
			t.Errorf("not in example_test.go, word for word:\n%s", code)
		}
	}
}
