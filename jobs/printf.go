package jobs

import (
	"fmt"
	"regexp"
	"strings"
)

// verbFault is what package fmt writes where a verb does not fit its value.
var verbFault = regexp.MustCompile(`%!.?\([A-Za-z][^)]{0,60}\)?`)

// printf is text/template's, but what does not fit is an error: theirs prints
// "%!d(string=3)" into the prompt.
func printf(format string, args ...any) (string, error) {
	s := fmt.Sprintf(format, args...)
	if !strings.Contains(s, "%!") {
		return s, nil
	}
	// The row's own text may hold such marks: what is left without it is fmt's.
	plain := make([]any, len(args))
	for i, v := range args {
		plain[i] = withoutPercent(v)
	}
	bad := verbFault.FindString(fmt.Sprintf(format, plain...))
	if bad == "" {
		return s, nil
	}
	return "", &Problem{
		What:   fmt.Sprintf("printf %q does not fit its values: it gives %s", format, bad),
		Remedy: "%v takes any value; %d and %f take numbers only, and the cells of a CSV file are texts; a verb for each value",
	}
}

func withoutPercent(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "%", ".")
	case List:
		out := make(List, len(v))
		for i, one := range v {
			out[i] = withoutPercent(one)
		}
		return out
	case Object:
		out := make(Object, len(v))
		for name, one := range v {
			out[strings.ReplaceAll(name, "%", ".")] = withoutPercent(one)
		}
		return out
	}
	return v
}
