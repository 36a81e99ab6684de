package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// inputCommand makes of a command's words one that is about rows: it takes INPUT files and
// the flags of a run, and those that own adds; its help is in sections.
func inputCommand(cmd *cobra.Command, o *specOptions, own func(), run func(ctx context.Context, inputs []string) error) *cobra.Command {
	cmd.Args = inputArgs
	cmd.RunE = func(cmd *cobra.Command, inputs []string) error { return run(cmd.Context(), inputs) }
	o.addFlags(cmd)
	own()
	inSections(cmd)
	return cmd
}
