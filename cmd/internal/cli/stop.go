package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/dashboard"
)

func newStopCmd(f *factory) *cobra.Command {
	var because string
	cmd := &cobra.Command{
		Use:   "stop tenant/NAME|team/NAME|key/ID",
		Short: "Emergency stop: hold a tenant, team or key to one call a minute, and pause its runs",
		Long: "Holds all calls of a tenant, team or key to one a minute, people's too, and pauses its open runs, until\n" +
			"`nightshift lift` ends that: what was set before holds again then. Calls in flight end and are kept.\n" +
			"A key that leaked is better revoked: nightshift keys revoke.",
		Example: "  nightshift stop tenant/acme --because \"a loop in their client\"\n  nightshift lift tenant/acme",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.emergency(cmd.Context(), func(be *backend) (dashboard.Outcome, error) {
				return be.stop(cmd.Context(), operator(), args[0], because)
			})
		},
	}
	cmd.Flags().StringVar(&because, "because", "", "why, for those who see it")
	return cmd
}

func newLiftCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "lift tenant/NAME|team/NAME|key/ID",
		Short: "End an emergency stop: what was set before holds again, and its runs go on",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.emergency(cmd.Context(), func(be *backend) (dashboard.Outcome, error) {
				return be.lift(cmd.Context(), operator(), args[0])
			})
		},
	}
}

// emergency does what the dashboard's action does, and says what came of it.
func (f *factory) emergency(ctx context.Context, do func(*backend) (dashboard.Outcome, error)) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	out, err := do(be)
	if out.Target != "" {
		f.deed.about(out.Target)
		f.deed.changed(out.Before, out.After)
		f.deed.says(out.Said)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.Out, out.Said)
	return err
}
