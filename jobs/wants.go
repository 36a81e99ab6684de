package jobs

import (
	"text/template"
	"text/template/parse"
)

// wants is the set of a row's fields that templates may look at, so that the
// others are never decoded.
type wants struct {
	all   bool
	names map[string]bool
	calls []*parse.TemplateNode // {{template "x"}}
}

func (w *wants) add(t *template.Template) {
	for _, one := range t.Templates() {
		if one.Tree != nil {
			w.node(one.Root)
		}
	}
}

// undefined is a template that a template calls and nothing defines:
// text/template would notice it at the first row that comes there.
func (w *wants) undefined(t *template.Template) *parse.TemplateNode {
	calls := w.calls
	w.calls = nil
	for _, n := range calls {
		if t.Lookup(n.Name) == nil {
			return n
		}
	}
	return nil
}

// data is what the templates see of a row.
func (w *wants) data(ms []member) (Object, error) {
	o := make(Object, len(w.names))
	for _, m := range ms {
		if !w.all && !w.names[m.name] {
			continue
		}
		v, err := value(m.raw)
		if err != nil {
			return nil, err
		}
		o[m.name] = v
	}
	return o, nil
}

// node takes every name that occurs, at whatever depth: too many is slow, too
// few would be wrong. A bare dot may be the whole row.
func (w *wants) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			w.nodes(n.Nodes)
		}
	case *parse.ActionNode:
		w.node(n.Pipe)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				w.command(c)
			}
		}
	case *parse.IfNode:
		w.branch(&n.BranchNode)
	case *parse.RangeNode:
		w.branch(&n.BranchNode)
	case *parse.WithNode:
		w.branch(&n.BranchNode)
	case *parse.TemplateNode:
		w.calls = append(w.calls, n)
		// The other template's names are taken on their own.
		if n.Pipe != nil && !isDot(n.Pipe) {
			w.node(n.Pipe)
		}
	case *parse.ChainNode:
		w.node(n.Node)
	default:
		w.leaf(n)
	}
}

func (w *wants) leaf(n parse.Node) {
	switch n := n.(type) {
	case *parse.FieldNode:
		w.names[n.Ident[0]] = true
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.names[n.Ident[1]] = true
		} else if n.Ident[0] == "$" {
			w.all = true
		}
	case *parse.DotNode:
		w.all = true
	}
}

func (w *wants) nodes(ns []parse.Node) {
	for _, n := range ns {
		w.node(n)
	}
}

func (w *wants) branch(b *parse.BranchNode) {
	w.node(b.Pipe)
	w.node(b.List)
	w.node(b.ElseList)
}

// command knows that has, get and index with a constant name look at that name
// only.
func (w *wants) command(c *parse.CommandNode) {
	if len(c.Args) == 3 {
		f, isFunc := c.Args[0].(*parse.IdentifierNode)
		name, isName := c.Args[2].(*parse.StringNode)
		if isFunc && isName && (f.Ident == "has" || f.Ident == "get" || f.Ident == "index") {
			w.names[name.Text] = true
			if _, dot := c.Args[1].(*parse.DotNode); dot {
				return
			}
		}
	}
	w.nodes(c.Args)
}

func isDot(p *parse.PipeNode) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	_, ok := p.Cmds[0].Args[0].(*parse.DotNode)
	return ok
}
