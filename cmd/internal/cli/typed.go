package cli

import (
	"regexp"
	"strings"

	"nightshift/jobs"
)

var plainWord = regexp.MustCompile(`^[\pL\pN._/:=@+,-]+$`)

// typed is a run's name as a shell wants it, for commands that we print.
func typed(run jobs.Run) string { return shellWord(run.Title()) }

func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
