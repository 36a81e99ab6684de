package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpOf is what a command's --help prints.
func helpOf(t *testing.T, root *cobra.Command, path string) string {
	t.Helper()
	cmd, _, err := root.Find(strings.Fields(path))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.InitDefaultHelpFlag()
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHelpFits: no line of any command's help is longer than a terminal shows.
func TestHelpFits(t *testing.T) {
	root := newRootCmd(&streams{})
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "nightshift")
		for _, line := range strings.Split(helpOf(t, root, path), "\n") {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%s --help, %d columns: %s", path, n, line)
			}
		}
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(root)
}

// TestHelpSections: commands with dozens of flags show each once, under a title.
func TestHelpSections(t *testing.T) {
	root := newRootCmd(&streams{})
	for name, titles := range map[string][]string{
		"enqueue": {"What is asked:", "The input:", "When it works:", "Who is told:"},
		"run":     {"What is asked:", "Who is told:"},
		"plan":    {"What is asked:", "What it costs, and what stops it:"},
		"sample":  {"What is asked:"},
		"set":     {"When it works:", "Beside other runs:"},
	} {
		help := helpOf(t, root, name)
		for _, title := range titles {
			if !strings.Contains(help, "\n\n"+title+"\n") {
				t.Errorf("%s --help has no %q", name, title)
			}
		}
		cmd, _, _ := root.Find([]string{name})
		cmd.LocalFlags().VisitAll(func(fl *pflag.Flag) {
			if n := strings.Count(help, " --"+fl.Name+" "); !strings.HasPrefix(fl.Name, "help") && n < 1 {
				t.Errorf("%s --help does not show --%s", name, fl.Name)
			}
			own := map[string]bool{"help": true, "output": true, "out": true, "number": true, "seed-rows": true}
			if fl.Annotations[sectionKey] == nil && !own[fl.Name] {
				t.Errorf("%s: --%s stands under no title", name, fl.Name)
			}
		})
	}
}
