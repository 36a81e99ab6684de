package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkFields looks at what is a row's own, before any matrix value.
func (p *pass) checkFields(rec record) (string, *Problem) {
	if bad := p.checkLine(rec); bad != nil {
		return "", bad
	}
	id, bad := p.rowID(rec)
	if bad != nil {
		return "", bad
	}
	prob := Problem{Line: rec.line, Row: id}
	if half := loneSurrogate(rec.object); half != "" {
		prob.Field = fieldWith(p.members, half)
		prob.What, prob.Remedy = "half a character ("+half+"), which is no text", "repair it where the file is made: an emoji was probably cut in two"
		return "", &prob
	}
	if name := repeatedName(p.members); name != "" {
		prob.Field, prob.What, prob.Remedy = name, "the field occurs twice in this object", "remove one"
		return "", &prob
	}
	if name := clash(p.members, p.axes); name != "" {
		prob.Field, prob.What, prob.Remedy = name, "the row has a field of the same name as the matrix", "rename the one or the other"
		if name == OutputField && len(p.spec.Outputs) > 0 {
			prob.What, prob.Remedy = "the row has a field of this name, under which the template sees the output that it makes", "rename the field"
		}
		return "", &prob
	}
	return id, nil
}

func fieldWith(ms []member, part string) string {
	for _, m := range ms {
		if bytes.Contains(m.raw, []byte(part)) && loneSurrogate(m.raw) != "" {
			return m.name
		}
	}
	return ""
}

func repeatedName(ms []member) string {
	if len(ms) > 16 {
		seen := make(map[string]bool, len(ms))
		for _, m := range ms {
			if seen[m.name] {
				return m.name
			}
			seen[m.name] = true
		}
		return ""
	}
	for i, m := range ms {
		for _, other := range ms[:i] {
			if m.name == other.name {
				return m.name
			}
		}
	}
	return ""
}

// render makes a row's prompt. stop is for a fault that all rows of the file have,
// which is kept already.
func (p *pass) render(row *RenderedRow) (bad *Problem, stop bool) {
	var err error
	if row.Request, err = p.tmpl.render(p.members); err == nil {
		err = row.Attach(p.files.find)
	}
	if err != nil {
		return p.renderProblem(row, err)
	}
	if row.empty() {
		return &Problem{Line: row.Line, Row: row.ID, What: "the rendered prompt is empty", Remedy: "fill the fields that the template uses, or leave the row out"}, false
	}
	row.Key = p.tmpl.Key(&row.Request)
	return nil, false
}

// renderProblem stops at a field that no row of a CSV file can have.
func (p *pass) renderProblem(row *RenderedRow, err error) (bad *Problem, stop bool) {
	prob := &Problem{Line: row.Line, Row: row.ID, What: err.Error()}
	var fault *renderFault
	if errors.As(err, &fault) {
		prob.Remedy = fault.remedy
	}
	if own, ok := err.(*Problem); ok { //nolint:errorlint // of a file or a batch line, which knows better
		*prob = *own
		prob.Line, prob.Row = row.Line, row.ID
	}
	var fe *FieldError
	if !errors.As(err, &fe) {
		return prob, false
	}
	prob.Field = fe.Field
	prob.What = "the row has no such field, and the template uses it (" + fe.Where + ")"
	prob.Remedy = fmt.Sprintf("add it (it may be empty), or write {{if has . %q}}…{{end}} around it", fe.Field)
	if p.header == nil {
		return prob, false
	}
	remedy := "rename the column or the field in the template; if line 1 is not a header, add one"
	if like := sameButCase(p.header, fe.Field); like != "" {
		remedy = fmt.Sprintf("capitals count: write {{.%s}} in the template, or rename the column", like)
	}
	known := listed(p.header)
	if len(p.axes) > 0 {
		known += "; matrix: " + axisNames(p.axes)
	}
	p.problems.add(Problem{
		Line: 1, Field: fe.Field, What: "no such column, and the template uses it (" + fe.Where + "); there are: " + known,
		Remedy: remedy,
	})
	return nil, true
}

// sameButCase is the name that differs from this one by capitals only, "" where
// there is none.
func sameButCase(names []string, name string) string {
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	if i < 0 {
		return ""
	}
	return names[i]
}

// namesListed bounds how many columns a message names: a file may have thousands.
const namesListed = 20

func listed(names []string) string {
	if more := len(names) - namesListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesListed], ", "), more)
	}
	return strings.Join(names, ", ")
}
