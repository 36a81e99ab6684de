package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"nightshift/jobs"
)

func (o *specOptions) name() error {
	if err := jobs.CheckName(o.Name); err != nil {
		return fmt.Errorf("--name: %w", err)
	}
	return nil
}

// anyNumber is the end of a range that the API does not bound.
const anyNumber = math.MaxInt32

// numbers refuses values that the API would refuse for every row.
func (o *specOptions) numbers(cmd *cobra.Command) error {
	for _, c := range []struct {
		flag               string
		value, least, most float64
	}{
		{"temperature", float64(o.temperature), 0, 2},
		{"top-p", float64(o.topP), 0, 1},
		{"top-k", float64(o.topK), 1, anyNumber},
		{"thinking-budget", float64(o.thinkingBudget), -1, anyNumber},
		{"max-output-tokens", float64(o.Settings.MaxOutputTokens), 1, anyNumber},
		{"dimensions", float64(o.Settings.Dimensions), 1, anyNumber},
		{"attempts", float64(o.Attempts), 0, anyNumber},
	} {
		// The other way round, NaN would pass.
		if !cmd.Flags().Changed(c.flag) || c.value >= c.least && c.value <= c.most {
			continue
		}
		given := cmd.Flags().Lookup(c.flag).Value
		if c.most == anyNumber {
			return fmt.Errorf("--%s: %s; want at least %v", c.flag, given, c.least)
		}
		return fmt.Errorf("--%s: %s; want %v to %v", c.flag, given, c.least, c.most)
	}
	return nil
}

var (
	embedFlags    = []string{"dimensions", "task-type"}
	generateFlags = []string{
		"system", "schema", "mime", "temperature", "top-p", "top-k", "seed", "thinking-budget", "max-output-tokens", "stop", "reask", "grow", "service-tier",
	}
)

// kindFlags refuses a setting that the run's kind does not have: it would be
// left out without a word.
func (o *specOptions) kindFlags(cmd *cobra.Command) error {
	for _, flag := range slices.Concat(embedFlags, generateFlags) {
		switch embedding := slices.Contains(embedFlags, flag); {
		case !cmd.Flags().Changed(flag):
		case embedding && o.Kind != string(jobs.Embed):
			return fmt.Errorf("--%s is for embeddings: leave it out or give --kind embed", flag)
		case !embedding && o.Kind == string(jobs.Embed):
			return fmt.Errorf("--%s: an embedding has none; leave it out or give --kind generate", flag)
		}
	}
	return nil
}
