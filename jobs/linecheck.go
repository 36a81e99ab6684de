package jobs

// lineMembers are what identifies a line of each batch file, and what has its request.
var lineMembers = map[string]struct{ id, request string }{
	LinesOpenAI: {"custom_id", "body"},
	LinesGemini: {"key", "request"},
}

// checkLine refuses a line that is none of its batch format.
func (p *pass) checkLine(rec record) *Problem {
	m, ok := lineMembers[p.spec.Lines]
	if !ok || hasMember(p.members, m.request) {
		return nil
	}
	return &Problem{
		Line: rec.line, Field: m.request, What: "the line has no such member, as " + p.kind.String() + " have",
		Remedy: "repair the line; if rows are fields for a prompt, give a template (-t)",
	}
}

// lineID is the member that identifies a batch file's lines, unless they are counted.
func lineID(spec Spec) string {
	if spec.idColumn() == RowNumbers {
		return RowNumbers
	}
	return lineMembers[spec.Lines].id
}
