package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrNoTemplate says that a run has no prompt, and its rows are no requests.
var ErrNoTemplate = errors.New("no template")

// kind is what the rows of a run are, beside fields for a template. All files of a run
// are of one kind.
type kind struct {
	format string // as pass.format gives it
	lines  string // Spec.Lines
	mended bool   // the file is one of rows that were left out of a run (InvalidRow)
}

func (k kind) String() string {
	switch {
	case k.mended:
		return "a list of rows that were left out"
	case k.lines == LinesOpenAI:
		return "lines of OpenAI's batch"
	case k.lines == LinesGemini:
		return "lines of Gemini's batch"
	case k.format == "json":
		return "a JSON array"
	}
	return strings.ToUpper(k.format)
}

// hasTemplate says that rows are fields for a prompt. Without one they have to be
// requests already.
func (s Spec) hasTemplate() bool { return s.Template != "" || len(s.Turns)+len(s.Outputs) > 0 }

// sniff tells the kind of the first good record; none is the zero kind, and what kept
// records from being read is the error.
func (p *Prepared) sniff(ctx context.Context) (kind, error) {
	k, bad := kind{}, &problems{}
	one := pass{spec: p.Spec, in: p.in, problems: bad, sniffed: &k}
	if err := one.run(ctx, p.src[:1]); err != nil {
		return k, err
	}
	if k == (kind{}) {
		return k, bad.err()
	}
	return k, nil
}

// kindOf tells a record's kind by its members. Batch lines are looked for only where
// there is no template: with one, their members are fields like others.
func (p *pass) kindOf(rec record) kind {
	k := kind{format: p.read, lines: linesOf(p.in.Format), mended: rec.mended}
	if k.lines != "" || p.spec.hasTemplate() {
		return k
	}
	ms, err := members(rec.object, p.members[:0])
	if err != nil {
		return k
	}
	switch {
	case hasMember(ms, "custom_id") && hasMember(ms, "body"):
		k.lines = LinesOpenAI
	case hasMember(ms, "request") && (hasMember(ms, "key") || p.spec.idColumn() == RowNumbers):
		k.lines = LinesGemini
	}
	return k
}

func hasMember(ms []member, name string) bool {
	for _, m := range ms {
		if m.name == name {
			return true
		}
	}
	return false
}

// checkKind refuses a file that is of another kind than the first.
func (p *pass) checkKind(rec record) (goOn bool) {
	if !p.first {
		return true
	}
	p.first = false
	k := p.kindOf(rec)
	if p.sniffed != nil {
		*p.sniffed = k
		return false
	}
	if k == p.kind {
		return true
	}
	p.problems.addFatal(Problem{
		What:   fmt.Sprintf("is %s, and the first file is %s: all files of a run are of one kind", k, p.kind),
		Remedy: "make two runs of them, or convert the one or the other",
	})
	return false
}
