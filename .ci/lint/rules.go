package main

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// deadCode tells what nothing uses. The analyzer itself only finds it: its own
// command adds the packages up, and here go vet gives each with its tests.
var deadCode = &analysis.Analyzer{
	Name:     "unused",
	Doc:      "reports code that nothing uses",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		for _, o := range found.Unused {
			pass.Reportf(place(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
		}
		return nil, nil
	},
}

// place is where a position is in the files of a pass.
func place(pass *analysis.Pass, at token.Position) token.Pos {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.Pos()); file.Name() == at.Filename {
			return file.Pos(at.Offset)
		}
	}
	return token.NoPos
}

// exported wants a comment on packages and on every exported name, and that it
// begins with the name.
var exported = &analysis.Analyzer{
	Name: "exported",
	Doc:  "reports packages and exported names without a comment of the usual form",
	Run: func(pass *analysis.Pass) (any, error) {
		var first *ast.File // that is no test
		documented := false
		for _, f := range pass.Files {
			if test(pass, f) {
				continue
			}
			if first == nil {
				first = f
			}
			documented = documented || f.Doc != nil
			if pass.Pkg.Name() != "main" {
				comments(pass, f)
			}
		}
		if first != nil && !documented {
			pass.Reportf(first.Package, "package %s has no comment", pass.Pkg.Name())
		}
		return nil, nil
	},
}

func test(pass *analysis.Pass, f *ast.File) bool {
	return strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go")
}

func comments(pass *analysis.Pass, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d)) && !usual[d.Name.Name] {
				want(pass, d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				spec(pass, d, s)
			}
		}
	}
}

// usual are methods whose meaning everybody knows: those of errors, sorts and
// encodings.
var usual = map[string]bool{
	"Error": true, "Unwrap": true, "String": true, "Len": true, "Less": true, "Swap": true, "Is": true, "As": true,
	"Read": true, "Write": true, "Close": true, "ServeHTTP": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func spec(pass *analysis.Pass, d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		want(pass, s.Name, either(s.Doc, d.Doc))
	case *ast.ValueSpec: // a group's comment is for all in it
		if ast.IsExported(s.Names[0].Name) && either(either(s.Doc, d.Doc), s.Comment) == nil {
			pass.Reportf(s.Pos(), "exported %s has no comment", s.Names[0].Name)
		}
	}
}

func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a != nil {
		return a
	}
	return b
}

func want(pass *analysis.Pass, name *ast.Ident, doc *ast.CommentGroup) {
	if !ast.IsExported(name.Name) {
		return
	}
	text := strings.TrimSpace(doc.Text())
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if !strings.HasPrefix(text, name.Name) {
		pass.Reportf(name.Pos(), "the comment on exported %s has to begin with its name", name.Name)
	}
}

// params wants a context to come first.
var params = &analysis.Analyzer{
	Name: "context",
	Doc:  "reports functions whose context is not the first parameter",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && !test(pass, f) && late(fn.Type.Params.List) {
					pass.Reportf(fn.Pos(), "context.Context has to be the first parameter of %s", fn.Name.Name)
				}
			}
		}
		return nil, nil
	},
}

func late(params []*ast.Field) bool {
	for i, p := range params {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" && i > 0 {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "context" {
				return true
			}
		}
	}
	return false
}
