package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

func newKeysAddCmd(f *factory) *cobra.Command {
	o := &keysOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "add --name NAME --class CLASS [--feature FEATURE]",
		Short: "Make a key; it is printed once and kept as a hash",
		Long: "Makes a key that clients send to the gateway instead of Gemini's, prints it once, and keeps its hash. Its calls\n" +
			"have at most its class, count for its feature and tenant, and must fit its own limits beside the model's.",
		Example: "  nightshift keys add --name web-chat --feature chat --rpm 300 --usd-per-day 20\n" +
			"  nightshift keys add --name partner --class agent --features search,tags \\\n" +
			"      --tenant acme/web --expires 720h",
		Args: noArgument(": the name goes with --name"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.make(cmd, func(ctx context.Context, keys *gateway.Keys, who gateway.Identity) (string, error) {
				secret, id, err := keys.Add(ctx, who)
				o.Secret = secret
				return id, err
			})
		},
	}
	o.addIdentityFlags(cmd)
	return cmd
}

// make makes an identity in the way given, with its limits: both, or neither.
func (o *keysOptions) make(cmd *cobra.Command, how func(context.Context, *gateway.Keys, gateway.Identity) (id string, err error)) error {
	who, err := o.identity()
	if err != nil {
		return err
	}
	limits, err := o.Limits.read(cmd)
	if err != nil {
		return err
	}
	return o.withKeys(cmd.Context(), func(be *backend, keys *gateway.Keys) (*limiter.Event, error) {
		err := be.book.MakeKey(cmd.Context(), operator(), limits, func() (id string, err error) {
			who.ID, err = how(cmd.Context(), keys, who)
			return who.ID, err
		})
		var wrong *limiter.ConfigError
		if errors.As(err, &wrong) {
			return nil, &usageError{err}
		}
		if err != nil {
			return nil, err
		}
		o.tell(be, who, limits)
		return &limiter.Event{Subject: who.Name, Text: fmt.Sprintf("key %s (%s) for class %s; %s; %s", who.Name, who.ID, who.Class, calledFor(who), onBehalf(who.Path))}, nil
	})
}

// tell prints the secret, or the id of a key that was there already, and on
// standard error what follows.
func (o *keysOptions) tell(be *backend, who gateway.Identity, limits []limiter.Override) {
	fmt.Fprintln(o.Out, orElse(o.Secret, who.ID))
	o.say("%s (%s): class %s; %s; %s; limits of its own: %s", who.ID, who.Name, who.Class, calledFor(who), onBehalf(who.Path), limitsText(limits, "none"))
	if o.Secret != "" {
		o.say("The key is shown this once. Clients send it as x-goog-api-key, or as ?key= or Authorization: Bearer, to %s", be.conf.gatewayURL())
		return
	}
	o.say("Calls that come with this key through the gateway now count so; set the clients' base URL to %s and change nothing else", be.conf.gatewayURL())
}

// onBehalf says for which tenant a key's calls count.
func onBehalf(p limiter.Path) string {
	switch {
	case p.Tenant == "":
		return "no tenant"
	case p.Team == "":
		return "tenant " + p.Tenant
	}
	return fmt.Sprintf("tenant %s, team %s", p.Tenant, p.Team)
}
