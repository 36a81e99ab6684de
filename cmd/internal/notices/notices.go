// Package notices gives the licence texts of everything that is linked into
// nightshift or embedded in it: Go modules, the standard library, fonts, and the
// dashboard's scripts. It gives no terms for nightshift itself.
package notices

import (
	_ "embed"
	"fmt"
	"strings"
)

// Text is all of them, for people. It is written by the package's test:
//
//	go test ./cmd/internal/notices -update
//
//go:embed notices.txt
var Text string

// The lines by which Text is told apart: a part begins after the first, its texts
// after the second.
var (
	partLine = "\n" + strings.Repeat("=", 100) + "\n"
	textLine = "\n" + strings.Repeat("-", 100) + "\n"
)

// Notice is one text and what it belongs to: "github.com/a/b v1.2.3", or with the
// file's name where that is not the licence of the whole: "… : zstd/LICENSE".
type Notice struct {
	Of   []string
	Text string
}

// Parse takes Text apart.
func Parse(text string) ([]Notice, error) {
	parts := strings.Split(text, partLine)
	out := make([]Notice, 0, len(parts))
	for _, p := range parts[1:] {
		names, said, ok := strings.Cut(p, textLine)
		if !ok || names == "" || strings.TrimSpace(said) == "" {
			return nil, fmt.Errorf("notices: a part has no names or no text: %.80q", p)
		}
		out = append(out, Notice{strings.Split(names, "\n"), strings.TrimSpace(said)})
	}
	return out, nil
}
