package jobs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What text/template says of a template that it cannot read, and of one that a row
// does not suit.
var (
	noFunction = regexp.MustCompile(`^function "(.*)" not defined$`)
	noField    = regexp.MustCompile(`^at <(.*)>: can't evaluate field (\S+) in type .*$`)
	noRange    = regexp.MustCompile(`^at <(.*)>: range can't iterate over ?(.*)$`)
	noCall     = regexp.MustCompile(`^at <.*>: error calling call: non-function (\S+) of type .*$`)
	inCall     = regexp.MustCompile(`^at <(.*)>: error calling \w+: `)
	plumbing   = strings.NewReplacer("jobs.", "", "<nil>", "nothing", "interface {}", "value", "map[string]any", "object", " a int ", " a number ", "a int cannot", "a number cannot")
	parsing    = map[string]string{
		"unclosed action":    "a }} that ends the {{ is missing",
		"unexpected EOF":     "the template ends before an {{end}} that is wanted",
		"unexpected {{end}}": "an {{end}} too many: nothing is open that it could end",
	}
)

func parseWords(msg string) string {
	if said := parsing[msg]; said != "" {
		return said
	}
	if m := noFunction.FindStringSubmatch(msg); m != nil {
		return "there is no function " + m[1] + "; there are, beside those of Go's templates: " + strings.Join(slices.Sorted(maps.Keys(functions)), ", ")
	}
	return plumbing.Replace(msg)
}

func renderWords(msg string) string {
	msg = noField.ReplaceAllStringFunc(msg, func(string) string {
		m := noField.FindStringSubmatch(msg)
		of := strings.TrimSuffix(m[1], "."+m[2])
		if i := strings.Index(m[1], "."+m[2]); i > 0 {
			of = m[1][:i]
		}
		return of + " is no object, so it has no field " + m[2]
	})
	msg = noRange.ReplaceAllString(msg, "{{range $1}} wants a list or an object, and the row has a single value or null there")
	msg = noCall.ReplaceAllString(msg, "$1 is a value of the row, and no function that could be called")
	msg = inCall.ReplaceAllString(msg, "{{$1}}: ")
	return plumbing.Replace(msg)
}
