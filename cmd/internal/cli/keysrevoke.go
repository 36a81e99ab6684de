package cli

import (
	"context"
	"time"

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
				return f.revoke(cmd.Context(), be, keys, args[0])
			})
		},
	}
}

func (f *factory) revoke(ctx context.Context, be *backend, keys *gateway.Keys, id string) (*limiter.Event, error) {
	begin := f.now().Truncate(time.Second)
	who, err := keys.Revoke(ctx, id)
	if err != nil {
		return nil, noKey(id, err)
	}
	if err := be.dropKeyLimits(ctx, who.ID); err != nil {
		return nil, err
	}
	if who.Revoked.Before(begin) {
		f.say("%s (%s) was revoked already, at %s", who.ID, who.Name, clock(who.Revoked, f.now()))
		return nil, nil
	}
	f.say("%s (%s) is revoked; calls that run with it come to their end", who.ID, who.Name)
	return &limiter.Event{Subject: who.Name, Text: "key " + who.Name + " (" + who.ID + ") is revoked"}, nil
}
