package main

import (
	"fmt"
	"io"
	"strings"
)

// table writes Markdown.
type table struct{ w io.Writer }

func (t *table) head(title string, columns ...string) {
	fmt.Fprintf(t.w, "\n**%s**\n\n", title)
	t.row(columns...)
	t.row(strings.Split(strings.Repeat("---|", len(columns)-1)+"---", "|")...)
}

func (t *table) row(cells ...string) {
	fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
}
