package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

func newKeysCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Say who may call through the gateway, and as what",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysAddCmd(f), newKeysAdoptCmd(f), newKeysListCmd(f), newKeysRotateCmd(f), newKeysRevokeCmd(f))
	quiet(cmd)
	return cmd
}

// noCommand says which there are; a word of that length may be a key.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf("`nightshift keys` has no such command: want add, adopt, list, rotate or revoke%s", didYouMean(cmd.SuggestionsFor(args[0])))
}

// withKeys reaches the shared keys; the event that do gives is noted.
func (f *factory) withKeys(ctx context.Context, do func(*backend, *gateway.Keys) (*limiter.Event, error)) error {
	be, err := f.openFleet(ctx, "keys")
	if err != nil {
		return err
	}
	defer be.close()
	e, err := do(be, gateway.NewKeys(be.rdb, f.now))
	var wrong *gateway.IdentityError
	switch {
	case errors.As(err, &wrong):
		return usageErrorf("%s: %s", orElse(keyFlags[wrong.Field], wrong.Field), wrong.Why)
	case err == nil && e == nil:
		f.deed.changesNothing()
		return nil
	case err != nil:
		return err
	}
	f.deed.about("key " + e.Subject)
	f.deed.says(e.Text)
	e.Kind, e.By = "keys", operator()
	return be.lim.Note(ctx, *e)
}

// keyFlags are the fields of an identity as the user gave them.
var keyFlags = map[string]string{
	"name": "--name", "class": "--class", "feature": "--feature", "features": "--features",
	"expires": "--expires", "path.tenant": "--tenant", "path.team": "--tenant",
}

// noKey says what to do about a key that is not there, or no longer.
func noKey(id string, err error) error {
	var gone *gateway.RevokedError
	switch {
	case errors.As(err, &gone):
		return usageErrorf("%w; `nightshift keys add` makes another", err)
	case errors.Is(err, gateway.ErrUnknownKey):
		return usageErrorf("no key %q; `nightshift keys list` shows them", id)
	case errors.Is(err, gateway.ErrExpired):
		return usageErrorf("%s has expired; give it another end with --expires", id)
	}
	return err
}

// calledFor says what a key's calls may be for.
func calledFor(k gateway.Identity) string {
	only := strings.Join(k.Features, ", ")
	switch {
	case k.Feature != "" && len(k.Features) > 1:
		return "feature " + k.Feature + " where a call names none, else one of " + only
	case k.Feature != "":
		return "feature " + k.Feature
	case len(k.Features) == 1:
		return "feature " + only + " and no other"
	case only != "":
		return "each call names its feature, one of " + only
	}
	return "each call names its feature"
}
