package jobs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats are what Input.Format may be. "json" is one array of objects; the two batch
// formats are JSONL, or an array, of requests as those APIs' batch files have them.
var Formats = []string{"csv", "tsv", "jsonl", "json", "openai-batch", "gemini-batch"}

// linesOf is the Spec.Lines that a format asks for.
func linesOf(format string) string {
	switch strings.ToLower(format) {
	case "openai-batch":
		return LinesOpenAI
	case "gemini-batch":
		return LinesGemini
	}
	return ""
}

// headSize is how much of a file is looked at for its format: blank lines may come
// first.
const headSize = 4 << 10

// format is as asked, else by the name, else by the first character: one of "csv",
// "tsv", "jsonl" and "json". Whether JSON is an array its first character says, whatever
// the name.
func (p *pass) format(br *bufio.Reader) (string, error) {
	head, err := br.Peek(headSize)
	if err != nil && err != io.EOF && len(head) == 0 {
		return "", err
	}
	first := bytes.TrimLeft(head, " \t\r\n")
	if len(first) == 0 && len(head) < headSize {
		return "", &emptyInput
	}
	array := bytes.HasPrefix(first, []byte("["))
	asked := strings.ToLower(p.in.Format)
	switch {
	case asked == "ndjson":
		return "jsonl", nil
	case asked == "":
	case !slices.Contains(Formats, asked):
		return "", &Problem{What: fmt.Sprintf("unknown format %q", p.in.Format), Remedy: "--format takes " + strings.Join(Formats, ", ")}
	case linesOf(asked) == "":
		return asked, nil
	}
	named := p.src.format()
	switch {
	case array && named != "csv" && named != "tsv":
		return "json", nil
	case linesOf(asked) != "":
		return "jsonl", nil
	case named != "":
		return named, nil
	case bytes.HasPrefix(first, []byte("{")):
		return "jsonl", nil
	}
	return "csv", nil
}
