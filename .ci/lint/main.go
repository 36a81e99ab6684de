// Command lint is what this repository wants beyond go vet, as a tool of go vet:
//
//	go vet -vettool=PATH ./...
//
// Few analyzers, each for a fault that has cost somebody a night. What a test can
// hold better (import direction) is a test. A line may end in //nolint:NAME and
// why; errors that a test drops, and bodies that it leaves open, are its own.
package main

import (
	"slices"
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/ashanbrown/forbidigo/v2/pkg/analyzer"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/quickfix"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

func main() {
	all := slices.Clone(vet.Suite)
	all = append(all,
		outside("_test.go", errors()),            // a lost error here is a lost row or a leaked permit
		outside("_test.go", bodyclose.Analyzer),  // an unread body is a permit that never settles
		outside("_bench_test.go", houseRules()),  // benchmarks measure over real time and print their table
		everywhere(errorlint.NewAnalyzer()),      // refusals are found with errors.As; == and type switches miss wrapped ones
		everywhere(ineffassign.Analyzer),         // a value computed and dropped is usually a forgotten check
		everywhere(deadCode),                     // no dead code
		everywhere(exported), everywhere(params), // exported names say what they mean, in which unit
	)
	for _, set := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers, quickfix.Analyzers} {
		for _, a := range set { // real bugs, and simpler code
			if !a.Doc.NonDefault {
				all = append(all, everywhere(a.Analyzer))
			}
		}
	}
	unitchecker.Main(all...)
}

// houseRules forbid what has a better way here.
func houseRules() *analysis.Analyzer {
	a := analyzer.NewAnalyzer()
	for _, rule := range []string{
		`{p: ^time\.Sleep$, msg: "wait on a channel, a timer with a context, or virtual time"}`,
		`{p: ^(fmt\.Print.*|print|println)$, msg: "data goes to the command's Out, events to slog"}`,
	} {
		set(a, "p", rule)
	}
	return a
}

// errors are those that nobody looks at, but for what prints and what closes.
func errors() *analysis.Analyzer {
	errcheck.DefaultExcludedSymbols = append(errcheck.DefaultExcludedSymbols,
		"fmt.Fprintf", "fmt.Fprintln", "fmt.Fprint", "(io.Closer).Close", "(*os.File).Close")
	return errcheck.Analyzer
}

func set(a *analysis.Analyzer, flag, value string) {
	if err := a.Flags.Set(flag, value); err != nil {
		panic(a.Name + ": " + err.Error())
	}
}

func everywhere(a *analysis.Analyzer) *analysis.Analyzer { return outside("", a) }

// outside is an analyzer that says nothing of files with a suffix, and nothing of
// lines that //nolint:NAME ends.
func outside(suffix string, a *analysis.Analyzer) *analysis.Analyzer {
	own := *a
	own.Run = func(pass *analysis.Pass) (any, error) {
		silent := silenced(pass, a.Name)
		report, quiet := pass.Report, *pass
		quiet.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			if suffix != "" && strings.HasSuffix(at.Filename, suffix) || silent[line{at.Filename, at.Line}] {
				return
			}
			report(d)
		}
		return a.Run(&quiet)
	}
	return &own
}

type line struct {
	file string
	n    int
}

// silenced are the lines that //nolint:NAME ends.
func silenced(pass *analysis.Pass, name string) map[line]bool {
	out := map[line]bool{}
	for _, f := range pass.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				names, _, _ := strings.Cut(strings.TrimPrefix(c.Text, "//nolint:"), " ")
				if strings.HasPrefix(c.Text, "//nolint:") && slices.Contains(strings.Split(names, ","), name) {
					at := pass.Fset.Position(c.Pos())
					out[line{at.Filename, at.Line}] = true
				}
			}
		}
	}
	return out
}
