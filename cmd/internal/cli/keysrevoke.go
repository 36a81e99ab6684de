package cli

import (
	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

func newKeysRevokeCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a key with all its secrets; every gateway refuses it within a second",
		Args:  oneKeyNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withKeys(cmd.Context(), func(be *backend, keys *gateway.Keys) (*limiter.Event, error) {
				who, err := keys.Revoke(cmd.Context(), args[0])
				if err != nil {
					return nil, noKey(args[0], err)
				}
				if err := be.dropKeyLimits(cmd.Context(), who.ID); err != nil {
					return nil, err
				}
				f.say("%s (%s) is revoked; calls that run with it come to their end", who.ID, who.Name)
				return &limiter.Event{Subject: who.Name, Text: "key " + who.Name + " (" + who.ID + ") is revoked"}, nil
			})
		},
	}
}
