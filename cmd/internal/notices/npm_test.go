package notices

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const vendorDir = "../dashboard/assets/vendor/"

// vendorRow is a line of the table of what others wrote: file, package, version, terms.
var vendorRow = regexp.MustCompile(`(?m)^\| \S+ \| (\S+) \| (\S+) \| .*\((\S+)\) \|`)

// vendored are the terms of the scripts that stand in the dashboard's folder.
func vendored(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, row := range vendorRow.FindAllStringSubmatch(read(t, vendorDir+"README.md"), -1) {
		out["npm "+row[1]+" "+row[2]] = read(t, vendorDir+row[3])
	}
	if files, err := filepath.Glob(vendorDir + "*.LICENSE"); err != nil || len(files) == 0 || len(out) < len(files) {
		t.Errorf("%d of the dashboard's packages are in its table, %d files with terms: %v", len(out), len(files), err)
	}
	return out
}

var (
	lockName    = regexp.MustCompile(`(?m)^"?(@?[^@"\s#][^@"\n]*)@`)
	lockVersion = regexp.MustCompile(`(?m)^  version "(.*)"`)
	// inBundle is a package's name in the path of a source: after the last node_modules/.
	inBundle = regexp.MustCompile(`^.*node_modules/((?:@[^/]+/)?[^/]+)/`)
)

// inAsynqmon are the packages whose sources are in asynqmon's pages, as their source
// maps have it, each in all versions that its lock file allows there.
func inAsynqmon(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/hibiken/asynqmon").Output()
	if err != nil {
		t.Fatal(err)
	}
	ui := filepath.Join(strings.TrimSpace(string(out)), "ui")
	sources := map[string]bool{"webpack": true} // the loader has no source of its own
	sourceMaps, err := filepath.Glob(ui + "/build/static/js/*.map")
	if err != nil || len(sourceMaps) == 0 {
		t.Fatal("asynqmon's pages have no source maps", err)
	}
	for _, file := range sourceMaps {
		var m struct{ Sources []string }
		if err := json.Unmarshal([]byte(read(t, file)), &m); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.Sources {
			if at := inBundle.FindStringSubmatch(s); at != nil {
				sources[at[1]] = true
			}
		}
	}
	var names []string
	for part := range strings.SplitSeq(read(t, ui+"/yarn.lock"), "\n\n") {
		name, version := lockName.FindStringSubmatch(part), lockVersion.FindStringSubmatch(part)
		if name != nil && version != nil && sources[name[1]] {
			names = append(names, "npm "+name[1]+" "+version[1])
		}
	}
	for name := range sources {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "npm "+name+" ") }) {
			t.Errorf("asynqmon's lock file has no version of %s", name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fromNPM fetches the terms of a package.
func fromNPM(t *testing.T, nameVersion string) string {
	t.Helper()
	name, version, _ := strings.Cut(nameVersion, " ")
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `npm pack --silent "$1" >/dev/null && tar -xzf ./*.tgz --strip-components 1`, "sh", name+"@"+version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", nameVersion, err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if !e.IsDir() && termsFile.MatchString(e.Name()) {
			all = append(all, read(t, filepath.Join(dir, e.Name())))
		}
	}
	if len(all) > 0 {
		return strings.Join(all, "\n\n")
	}
	return declared(t, dir)
}

// declared is the terms of a package without a file of them, which are MIT's in all
// that there are.
func declared(t *testing.T, dir string) string {
	t.Helper()
	type kind struct{ Type string }
	type person struct{ Name string }
	var p struct {
		License  string
		Licenses []kind
		Author   json.RawMessage // a text, or an object with a name
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "package.json"))), &p); err != nil {
		t.Fatal(err)
	}
	if p.License != "MIT" && !slices.Contains(p.Licenses, kind{"MIT"}) {
		t.Fatalf("%s has no file with its terms, and is not under MIT's", read(t, filepath.Join(dir, "package.json")))
	}
	var by string
	var who person
	if json.Unmarshal(p.Author, &by) != nil && json.Unmarshal(p.Author, &who) == nil {
		by = who.Name
	}
	return "The MIT License\n\nCopyright (c) " + cmp.Or(by, "its authors") + "\n\n" + mit
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`
