package cli

import (
	"io"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/notices"
)

func newLicensesCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the terms of what is linked into nightshift or embedded in it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(f.Out, notices.Text)
			return err
		},
	}
}
