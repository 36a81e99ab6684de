package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages from the top down. A package imports only what
// stands below it, so that nobody needs a tour to know where a thing belongs.
var layers = []string{
	"cmd/nightshift",
	"cmd/internal/cli",
	"cmd/internal/dashboard",
	"cmd/internal/tracing",
	"cmd/internal/tenants",
	"cmd/internal/kept",
	"cmd/internal/notices",
	"cmd/internal/benchtable", // the table of all benchmarks
	"scheduler/sim",           // plays the scheduler's decisions too
	"scheduler",
	"worker",
	"limiter/gateway",
	"limiter/gemini",
	"limiter/gemini/geminitest",
	"limiter",
	"jobs",
}

// forbidden are imports that would point down and still be wrong.
var forbidden = map[string][]string{
	"limiter":                   {"jobs", "net/http", "google.golang.org/genai"},                      // provider-neutral: knows no jobs, no HTTP, no Gemini
	"limiter/gemini":            {"jobs"},                                                             // calls know nothing of rows
	"limiter/gateway":           {"jobs"},                                                             //
	"limiter/gemini/geminitest": {"limiter", "jobs", "github.com/redis/go-redis/v9"},                  // an independent judge
	"jobs":                      {"limiter", "limiter/gemini", "net/http", "google.golang.org/genai"}, // knows nothing of permits
}

type pkg struct {
	ImportPath   string
	Doc          string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "nightshift/")
		at := slices.Index(layers, name)
		if at < 0 {
			t.Errorf("package %s is not in the table: give it its place", name)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			checkImport(t, name, at, imp)
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			if imp != p.ImportPath && name == "limiter/gemini/geminitest" { // the judge's own tests too
				checkImport(t, name, at, imp)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no packages listed")
	}
}

func checkImport(t *testing.T, name string, at int, imp string) {
	t.Helper()
	short := strings.TrimPrefix(imp, "nightshift/")
	if slices.Contains(forbidden[name], short) {
		t.Errorf("%s imports %s, which it must know nothing of", name, short)
	}
	if below := slices.Index(layers, short); short != imp && below >= 0 && below <= at {
		t.Errorf("%s imports %s, which stands above it", name, short)
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if p.Doc == "" {
			t.Errorf("package %s does not say what it gives", p.ImportPath)
		}
	}
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,TestImports,XTestImports", "nightshift/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
