package notices

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

var update = flag.Bool("update", false, "write notices.txt; asks npm for packages of asynqmon's pages that are new")

const head = `What is linked into nightshift, or embedded in it, and the terms of each. A name that begins with npm is a
package of the dashboard's pages: of ours, or of those that come with asynqmon.
`

// TestNoticesAreOfWhatIsLinked: each module that a release is linked from, on any of
// its platforms, and each package that is in the dashboard's pages has its terms in
// notices.txt, and nothing else is there.
func TestNoticesAreOfWhatIsLinked(t *testing.T) {
	t.Parallel()
	had := texts(t, Text)
	want := linked(t)
	maps.Copy(want, vendored(t))
	for _, name := range inAsynqmon(t) {
		switch text, ok := had[name]; {
		case ok:
			want[name] = text
		case *update:
			want[name] = fromNPM(t, strings.TrimPrefix(name, "npm "))
		default:
			want[name] = "its terms"
		}
	}
	if *update {
		if err := os.WriteFile("notices.txt", []byte(written(want)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if had[name] != want[name] {
			t.Errorf("notices.txt has no terms of %s, or others", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if want[name] == "" {
			t.Errorf("notices.txt has %s, which is no longer linked", name)
		}
	}
	if t.Failed() {
		t.Log("write it anew: go test ./cmd/internal/notices -update")
	}
	if len(want) < 100 {
		t.Errorf("only %d names", len(want))
	}
}

// texts are the terms in a file, by name.
func texts(t *testing.T, file string) map[string]string {
	t.Helper()
	all, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, n := range all {
		for _, name := range n.Of {
			out[name] = n.Text
		}
	}
	return out
}

// written puts names with the same terms together.
func written(terms map[string]string) string {
	by := map[string][]string{}
	for name, text := range terms {
		by[text] = append(by[text], name)
	}
	all := make([]Notice, 0, len(by))
	for text, names := range by {
		slices.Sort(names)
		all = append(all, Notice{names, text})
	}
	slices.SortFunc(all, func(a, b Notice) int { return cmp.Compare(a.Of[0], b.Of[0]) })
	var b strings.Builder
	b.WriteString(head)
	for _, n := range all {
		b.WriteString(partLine + strings.Join(n.Of, "\n") + textLine + "\n" + n.Text + "\n")
	}
	return b.String()
}

// listed is what `go list` says of a package.
type listed struct {
	Dir        string
	GoFiles    []string
	EmbedFiles []string
	Module     *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linked are the terms of the modules of a release, on all its platforms.
func linked(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, system := range []string{"linux", "darwin"} {
		for _, p := range list(t, system) {
			if p.Module == nil {
				continue
			}
			if p.Module.Main {
				looked(t, p)
				continue
			}
			has := false
			name := p.Module.Path + " " + p.Module.Version
			for file, text := range above(t, p) {
				has = true
				out[strings.TrimSuffix(name+" : "+file, " : LICENSE")] = text
			}
			if !has {
				t.Errorf("no file with terms holds for %s of %s", p.Dir, name)
			}
			// The standard library comes under the terms of its authors' other modules;
			// its own file is not there in every installation of Go.
			if p.Module.Path == "golang.org/x/sys" {
				out["Go's standard library, runtime and time zones"] = out[name]
			}
		}
	}
	return out
}

// looked opens what decides what is linked: `go test` takes an earlier result for this
// one's as long as nothing changed that the test itself has opened.
func looked(t *testing.T, p listed) {
	t.Helper()
	for _, file := range append([]string{filepath.Join(p.Module.Dir, "go.mod")}, in(p.Dir, p.GoFiles)...) {
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
}

func in(dir string, files []string) (out []string) {
	for _, f := range files {
		out = append(out, filepath.Join(dir, f))
	}
	return out
}

func list(t *testing.T, system string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,GoFiles,EmbedFiles,Module", "nightshift/cmd/nightshift")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=arm64", "CGO_ENABLED=0")
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out []listed
	for dec := json.NewDecoder(strings.NewReader(string(b))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// termsFile are the names of files with terms. Those of code (license.go) are none, nor
// is the GPL that freetype may be had under instead of its own FTL.
var termsFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|ofl|ftl)[-_.a-z0-9]*$`)

// above are the terms that hold for a package, by their path in the module: in its
// folder, in those above it, and beside what it embeds.
func above(t *testing.T, p listed) map[string]string {
	t.Helper()
	folders := map[string]bool{}
	for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
		folders[dir], folders[filepath.Join(dir, "licenses")] = true, true
	}
	for _, file := range p.EmbedFiles {
		folders[filepath.Dir(filepath.Join(p.Dir, file))] = true
	}
	out := map[string]string{}
	for dir := range folders {
		entries, _ := os.ReadDir(dir) // not every folder has a folder of licences
		for _, e := range entries {
			if e.IsDir() || !termsFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			rel, err := filepath.Rel(p.Module.Dir, filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.ToSlash(rel)] = read(t, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// read is a text as it is kept: in UTF-8, with line feeds, nothing at the ends of lines.
func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b) {
		if b, err = charmap.ISO8859_1.NewDecoder().Bytes(b); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r\f")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
