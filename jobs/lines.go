package jobs

import "fmt"

// The values of Spec.Lines: rows that are requests already.
const (
	LinesOpenAI = "openai" // {"custom_id", "method", "url", "body"}
	LinesGemini = "gemini" // {"key", "request"}
)

// compileLines makes rows of the lines of a batch file, which no template touches.
func (t *Template) compileLines(spec Spec) error {
	switch spec.Lines {
	}
	return fmt.Errorf("lines %q: want %s or %s", spec.Lines, LinesOpenAI, LinesGemini)
}
