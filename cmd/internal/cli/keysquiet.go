package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

// noArgument takes none, and does not repeat what it was given: that may be a key,
// and what is printed is kept in logs.
func noArgument(why string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageErrorf("`%s` takes no argument%s", cmd.CommandPath(), why)
		}
		return nil
	}
}

// oneKeyNamed takes the id or the name of a key, and never the key.
func oneKeyNamed(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	if likeSecret(args[0]) {
		return usageErrorf("`%s` wants the id or the name of a key, and this looks like the key itself: "+
			"`nightshift keys list` shows both; the shell may have kept it in its history", cmd.CommandPath())
	}
	return nil
}

// likeSecret is on the safe side: a word that is long, of letters and digits in
// a mix that no name has.
func likeSecret(s string) bool {
	if gemini.Redact(s) != s || strings.HasPrefix(s, "AIza") || strings.HasPrefix(s, "nsk_") {
		return true
	}
	upper, other := strings.ContainsFunc(s, within('A', 'Z')), strings.ContainsFunc(s, within('a', 'z')) || strings.ContainsFunc(s, within('0', '9'))
	return len(s) >= 20 && !strings.Contains(s, " ") && upper && other
}

func within(from, to rune) func(rune) bool { return func(r rune) bool { return from <= r && r <= to } }

// quiet keeps keys that stand in the wrong place, such as another flag's value,
// out of what cmd and the commands below say is wrong.
func quiet(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return quieted(run(cmd, args)) }
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return quieted(flagError(err)) })
	for _, sub := range cmd.Commands() {
		quiet(sub)
	}
}

// quietError is an error whose text holds no key.
type quietError struct{ err error }

// Error is the text without keys.
func (e *quietError) Error() string { return gemini.Redact(e.err.Error()) }

// Unwrap gives the error, for what it is.
func (e *quietError) Unwrap() error { return e.err }

func quieted(err error) error {
	if err == nil || gemini.Redact(err.Error()) == err.Error() {
		return err
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return &usageError{&quietError{err}}
	}
	return &quietError{err}
}
