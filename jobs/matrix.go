package jobs

import (
	"fmt"
	"slices"
	"strings"
)

// checkMatrix refuses axes that would make rows twice or hide a field.
func checkMatrix(axes []Axis) []Problem {
	var out []Problem
	names := map[string]bool{}
	for _, a := range axes {
		p := Problem{Field: a.Name}
		switch {
		case a.Name == "" || len(a.Values) == 0:
			p.What, p.Remedy = "a matrix needs a name and values", "--matrix lang=ja,en,fr"
		case slices.Contains(a.Values, ""):
			p.What, p.Remedy = "the matrix has an empty value", "remove it, or name it"
		case names[a.Name]:
			p.What, p.Remedy = "two matrices have the same name", "give each its own"
		case repeated(a.Values) != "":
			p.What, p.Remedy = fmt.Sprintf("the matrix has the value %q twice", repeated(a.Values)), "remove one"
		default:
			names[a.Name] = true
			continue
		}
		out = append(out, p)
	}
	return out
}

func repeated(values []string) string {
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v] {
			return v
		}
		seen[v] = true
	}
	return ""
}

// cell is one combination of matrix values.
type cell struct {
	suffix  string   // of the row id: "/ja"
	members []member // to be added to the row's fields
}

// cells are all combinations, the last axis turning fastest; one empty cell
// without a matrix.
func cells(axes []Axis) []cell {
	out := []cell{{}}
	for _, a := range axes {
		var next []cell
		for _, c := range out {
			for _, v := range a.Values {
				next = append(next, cell{
					suffix:  c.suffix + "/" + v,
					members: append(append([]member(nil), c.members...), member{a.Name, appendQuoted(nil, v)}),
				})
			}
		}
		out = next
	}
	return out
}

// extend adds a cell's values at the end of a row's object.
func (c cell) extend(object []byte, empty bool) []byte {
	if len(c.members) == 0 {
		return append([]byte(nil), object...)
	}
	object = object[:len(object)-1]
	out := make([]byte, 0, len(object)+32*len(c.members))
	out = append(out, object...)
	for i, m := range c.members {
		if i > 0 || !empty {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, m.name), ':')
		out = append(out, m.raw...)
	}
	return append(out, '}')
}

// clash finds an axis that a row has as a field of its own.
func clash(ms []member, axes []Axis) string {
	for _, a := range axes {
		for _, m := range ms {
			if m.name == a.Name {
				return a.Name
			}
		}
	}
	return ""
}

// axisNames is for messages.
func axisNames(axes []Axis) string {
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.Name
	}
	return strings.Join(names, ", ")
}
