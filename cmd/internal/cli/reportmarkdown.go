package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// markdown writes the page as GitHub's Markdown, which wikis and tickets take.
func (p reportPage) markdown(w io.Writer, z *time.Location) {
	fmt.Fprintf(w, "# %s\n\n%s\n", mdText(p.Title), mdText(p.Lead))
	for _, s := range p.Steps {
		fmt.Fprintf(w, "\n**To do:** %s%s\n", mdText(s.Why), colon(s))
		if s.Command != "" {
			fmt.Fprintf(w, "\n%s\n", mdCode(s.Command))
		}
	}
	fmt.Fprintln(w)
	for _, f := range p.Facts {
		fmt.Fprintf(w, "- %s: %s\n", mdText(f[0]), mdText(f[1]))
	}
	for _, s := range p.Sections {
		s.markdown(w, z)
	}
	fmt.Fprintf(w, "\n%s\n", mdText(p.Foot))
}

func (s pageSection) markdown(w io.Writer, z *time.Location) {
	fmt.Fprintf(w, "\n## %s\n", mdText(s.Title))
	for _, t := range s.Text {
		fmt.Fprintf(w, "\n%s\n", mdText(t))
	}
	if s.Table != nil {
		s.Table.markdown(w)
	}
	for _, c := range s.Charts {
		fmt.Fprintf(w, "\n%s\n", mdText(c.caption(z)))
		if len(c.Points) >= leastPoints {
			fmt.Fprintf(w, "\n%s\n", mdCode(c.ascii(z)))
		}
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "\n%s\n", mdText(n))
	}
}

func (t *dataTable) markdown(w io.Writer) {
	line := func(cells []string, show func(string) string) {
		for _, c := range cells {
			fmt.Fprintf(w, "| %s ", show(c))
		}
		fmt.Fprintln(w, "|")
	}
	fmt.Fprintln(w)
	line(t.head, mdText)
	rules := make([]string, len(t.head))
	for i := range t.head {
		rules[i] = "---"
		if t.nums[i] {
			rules[i] = "---:"
		}
	}
	line(rules, func(s string) string { return s })
	for _, r := range t.rows {
		line(r, mdText)
	}
}

// mdEscape makes text of what Markdown and the HTML in it would take for more.
var mdEscape = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", "\\|", "#", "\\#", "~", "\\~", "\r", " ", "\n", " ")

func mdText(s string) string { return mdEscape.Replace(s) }

// mdCode is a block whose fence is longer than any in it.
func mdCode(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + s + "\n" + fence
}
