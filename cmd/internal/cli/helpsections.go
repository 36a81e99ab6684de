package cli

import (
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the longest line of a help text: what a terminal beside an editor shows.
const helpWidth = 100

// usageTemplate is cobra's own, except that flags stand under titles and in short lines.
var usageTemplate = template.Must(template.New("usage").Funcs(template.FuncMap{"sections": flagSections, "flags": flagLines}).Parse(
	`Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .Aliases}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$all := .}}{{if .HasAvailableSubCommands}}{{range $group := .Groups}}

{{.Title}}{{range $all.Commands}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{printf "%-*s" .NamePadding .Name}} {{.Short}}{{end}}{{end}}{{end}}{{if not .AllChildCommandsHaveGroup}}

{{if .Groups}}Additional{{else}}Available{{end}} Commands:{{range .Commands}}{{if and (eq .GroupID "") .IsAvailableCommand}}
  {{printf "%-*s" .NamePadding .Name}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{range sections .LocalFlags}}

{{.Title}}:
{{flags .Flags}}{{end}}{{if .HasAvailableInheritedFlags}}

Global Flags:
{{flags .InheritedFlags}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`))

// fitLong breaks the lines of a command's long text, and of its children's, that are
// longer than helpWidth: with the paragraph that they are in. What is indented stays.
func fitLong(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		long := slices.ContainsFunc(lines, func(l string) bool { return utf8.RuneCountInString(l) > helpWidth })
		if long && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") || strings.HasPrefix(l, "- ") }) {
			paragraphs[i] = filled(strings.Fields(p))
		}
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, c := range cmd.Commands() {
		fitLong(c)
	}
}

// filled are words in lines of at most helpWidth.
func filled(words []string) string {
	var b strings.Builder
	at := 0
	for _, w := range words {
		switch n := utf8.RuneCountInString(w); {
		case at == 0:
			at = n
		case at+1+n > helpWidth:
			b.WriteByte('\n')
			at = n
		default:
			b.WriteByte(' ')
			at += 1 + n
		}
		b.WriteString(w)
	}
	return b.String()
}

// showUsage fits cobra.Command.SetUsageFunc.
func showUsage(cmd *cobra.Command) error { return usageTemplate.Execute(cmd.OutOrStderr(), cmd) }

// sectionKey is the annotation of a flag that stands under a title.
const sectionKey = "nightshift_section"

// specSections are the titles under which a command with dozens of flags shows them, in
// this order; what stands nowhere here is shown last.
var specSections = []struct {
	title string
	flags []string
}{
	{"What is asked", []string{"template", "prompt", "system", "files", "schema", "matrix", "model", "kind"}},
	{"The input", []string{"id-column", "format", "encoding", "delimiter", "skip-invalid", "invalid", "max-record", "max-input"}},
	{"The answers", []string{"max-output-tokens", "grow", "reask", "thinking-budget", "temperature", "top-p", "top-k", "seed", "stop", "mime", "task-type", "dimensions"}},
	{"When it works", []string{"window", "zone", "deadline", "on-late", "ramp", "max-wait"}},
	{"What it costs, and what stops it", []string{"max-cost", "service-tier", "halt", "attempts"}},
	{"Beside other runs", []string{"weight", "priority", "class", "other-model"}},
	{"Done before", []string{"name", "update", "force", "redo-unseen"}},
	{"Whose it is, and how long it is kept", []string{"feature", "tenant", "keep"}},
	{"Who is told", []string{"notify", "notify-format", "on", "then"}},
}

// otherFlags is the title of flags that stand under no other.
const otherFlags = "Flags"

// inSections puts a command's flags under those titles.
func inSections(cmd *cobra.Command) {
	for _, s := range specSections {
		for _, name := range s.flags {
			if cmd.Flags().Lookup(name) != nil {
				_ = cmd.Flags().SetAnnotation(name, sectionKey, []string{s.title}) // the flag is there
			}
		}
	}
}

// flagSection is some of a command's flags.
type flagSection struct {
	Title string
	Flags *pflag.FlagSet
}

// flagSections are a command's flags by title, in the order of specSections.
func flagSections(all *pflag.FlagSet) (out []flagSection) {
	by := map[string]*pflag.FlagSet{}
	put := func(title string, fl *pflag.Flag) {
		if by[title] == nil {
			by[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			by[title].SortFlags = title == otherFlags
			out = append(out, flagSection{title, by[title]})
		}
		by[title].AddFlag(fl)
	}
	for _, s := range specSections {
		for _, name := range s.flags {
			if fl := all.Lookup(name); fl != nil && fl.Annotations[sectionKey] != nil {
				put(s.title, fl)
			}
		}
	}
	all.VisitAll(func(fl *pflag.Flag) {
		if fl.Annotations[sectionKey] == nil && !fl.Hidden {
			put(otherFlags, fl)
		}
	})
	return out
}

// flagLines are flags as help shows them.
func flagLines(fl *pflag.FlagSet) string {
	return strings.TrimRight(fl.FlagUsagesWrapped(helpWidth), " \n")
}
