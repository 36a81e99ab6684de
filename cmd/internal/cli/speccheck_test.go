package cli

import (
	"bytes"
	"strings"
	"testing"
)

// plan runs the command on a file that is not there: whoever gets so far
// accepted the command line.
func plan(t *testing.T, flags ...string) (int, string) {
	t.Helper()
	var out, err bytes.Buffer
	args := append([]string{"plan", "absent.csv", "--prompt", "p", "--model", "m"}, flags...)
	return Main(args, strings.NewReader(""), &out, &err), err.String()
}

func TestNumbersOutOfRange(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--max-output-tokens", "-5", "-5; want at least 1"},
		{"--max-output-tokens", "0", "0; want at least 1"},
		{"--top-p", "2", "2; want 0 to 1"},
		{"--top-p", "1.1", "1.1; want 0 to 1"},
		{"--top-p", "NaN", "NaN; want 0 to 1"},
		{"--temperature", "9", "9; want 0 to 2"},
		{"--temperature", "-0.5", "-0.5; want 0 to 2"},
		{"--top-k", "-1", "-1; want at least 1"},
		{"--attempts", "-1", "-1; want at least 0"},
		{"--thinking-budget", "-7", "-7; want at least -1"},
		{"--dimensions", "-8", "-8; want at least 1"},
	} {
		code, said := plan(t, c.flag+"="+c.value)
		if code != exitUsage || !strings.Contains(said, "nightshift: "+c.flag+": "+c.want) {
			t.Errorf("%s %s: %d, %s", c.flag, c.value, code, said)
		}
	}
}

func TestFlagsOfTheOtherKind(t *testing.T) {
	for _, c := range []struct {
		want  string
		flags []string
	}{
		{"--dimensions is for embeddings", []string{"--dimensions=8"}},
		{"--task-type is for embeddings", []string{"--task-type=SEMANTIC_SIMILARITY"}},
		{"--schema: an embedding has none", []string{"--kind=embed", "--schema=x"}},
		{"--system: an embedding has none", []string{"--kind=embed", "--system=x"}},
		{"--temperature: an embedding has none", []string{"--kind=embed", "--temperature=0"}},
	} {
		if code, said := plan(t, c.flags...); code != exitUsage || !strings.Contains(said, c.want) {
			t.Errorf("%v: %d, %s", c.flags, code, said)
		}
	}
}

func TestMatrixWithAnEmptyValue(t *testing.T) {
	for _, m := range []string{"lang=", "lang=ja,", "lang=,ja", "lang=ja,,en", "=ja", "lang"} {
		if code, said := plan(t, "--matrix="+m); code != exitUsage || !strings.Contains(said, "--matrix \""+m+"\"") {
			t.Errorf("%s: %d, %s", m, code, said)
		}
	}
}

func TestNamesThatCannotBeTyped(t *testing.T) {
	for _, name := range []string{"-x", "a\nb", strings.Repeat("x", 101)} {
		if code, said := plan(t, "--name="+name); code != exitUsage || !strings.Contains(said, "nightshift: --name: a run's name may") {
			t.Errorf("%q: %d, %s", name, code, said)
		}
	}
}

func TestNumbersInRange(t *testing.T) {
	for _, flags := range [][]string{
		{"--temperature=0", "--top-p=1", "--top-k=1", "--thinking-budget=-1", "--max-output-tokens=1", "--attempts=0"},
		{"--temperature=2", "--top-p=0", "--thinking-budget=0", "--seed=-1", "--stop=x"},
		{"--kind=embed", "--dimensions=1", "--task-type=CLUSTERING", "--matrix=lang=ja,en"},
	} {
		if code, said := plan(t, flags...); code != exitInvalidInput || !strings.Contains(said, "no limits for model m") {
			t.Errorf("%v: %d, %s", flags, code, said)
		}
	}
}
