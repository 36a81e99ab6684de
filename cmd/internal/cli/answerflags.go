package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// maxReask bounds how often one row is asked for again: a model that breaks a
// schema so often will not learn it, and each time is paid for.
const maxReask = 5

// answerFlags say what is done about answers that cannot be used.
type answerFlags struct {
	Reask int
	Grow  bool
	Halt  string
}

func (o *answerFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&o.Reask, "reask", 0, "how often an answer that breaks the schema, or is no JSON, is asked for again with its fault said (default run.reask: 1)")
	fl.BoolVar(&o.Grow, "grow", false, "ask once more, with twice the cap, when an answer reaches --max-output-tokens (default run.grow)")
	fl.StringVar(&o.Halt, "halt", "", "stop the run when its rows fail: `RULE` fail=20%/200 (more than 20 % of the last 200 rows), same=50 (50 in a row for one "+
		"cause), both with a comma between, or off (default run.halt: same=50)")
}

// answers puts them into the run's specification.
func (o *answerFlags) answers(cmd *cobra.Command, s *jobs.Spec, c *loaded) error {
	given := cmd.Flags().Changed
	asksJSON, capped := s.AsksJSON(), s.HasCap()
	s.Halt = cmp.Or(o.Halt, c.Run.Halt)
	if asksJSON {
		s.Reask = c.Run.Reask
	}
	if given("reask") {
		s.Reask = o.Reask
	}
	s.Regrow = capped && c.Run.Grow
	if given("grow") {
		s.Regrow = o.Grow
	}
	switch {
	case given("reask") && o.Reask > 0 && !asksJSON:
		return fmt.Errorf("--reask: no answer of this run is checked; give --schema FILE or --mime application/json, or leave it out")
	case given("grow") && o.Grow && !capped:
		return fmt.Errorf("--grow: there is no cap to grow; give --max-output-tokens, or leave it out")
	}
	return firstError(countOK("--reask", s.Reask, maxReask), haltOK("--halt", s.Halt))
}

func countOK(key string, n, most int) error {
	if n < 0 || n > most {
		return fmt.Errorf("%s: %d; want 0 to %d", key, n, most)
	}
	return nil
}

func haltOK(key, text string) error {
	if _, err := jobs.ParseHalt(text); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}
