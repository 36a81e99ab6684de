package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

type keysOptions struct {
	*factory
	Name    string
	Class   string
	Feature string
	Tenant  string
	Expires string
	FromEnv string
}

func newKeysCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Say who may call through the gateway, and as what",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysAddCmd(f), newKeysAdoptCmd(f), newKeysListCmd(f), newKeysRevokeCmd(f))
	return cmd
}

func newKeysAddCmd(f *factory) *cobra.Command {
	o := &keysOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "add --name NAME --class CLASS [--feature FEATURE]",
		Short: "Make a key; it is printed once and kept as a hash",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withKeys(cmd.Context(), func(keys *gateway.Keys, who gateway.Identity) error {
				secret, id, err := keys.Add(cmd.Context(), who)
				if err != nil {
					return err
				}
				fmt.Fprintln(o.Out, secret)
				o.say("key %s (%s): class %s, feature %s. It is shown this once. Clients send it as x-goog-api-key to the gateway", id, who.Name, who.Class, orElse(who.Feature, "named by each call"))
				return nil
			})
		},
	}
	o.addIdentityFlags(cmd)
	return cmd
}

func newKeysAdoptCmd(f *factory) *cobra.Command {
	o := &keysOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "adopt --name NAME --class CLASS --feature FEATURE",
		Short: "Let a team's existing Gemini key stand for it, so that its clients change the base URL only",
		Long: "Reads a Gemini key from standard input (hidden at a terminal) or from the variable named by --from-env, and\n" +
			"keeps its hash. Calls that come with it count for its class and feature; the key itself is never sent on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withKeys(cmd.Context(), func(keys *gateway.Keys, who gateway.Identity) error {
				key, err := o.existing()
				if err != nil {
					return err
				}
				id, err := keys.Adopt(cmd.Context(), key, who)
				if err != nil {
					return err
				}
				fmt.Fprintln(o.Out, id)
				o.say("calls that come with this key through the gateway are now class %s, feature %s; set the clients' base URL to http://%s",
					who.Class, orElse(who.Feature, "named by each call"), o.conf.Gateway.Listen+o.conf.Gateway.PathPrefix)
				return nil
			})
		},
	}
	o.addIdentityFlags(cmd)
	cmd.Flags().StringVar(&o.FromEnv, "from-env", "", "the `VARIABLE` that holds the key (default: standard input)")
	return cmd
}

func (o *keysOptions) addIdentityFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&o.Name, "name", "", "a `NAME` for people (default: the feature)")
	fl.StringVar(&o.Class, "class", "interactive", "the highest `CLASS` that its calls may have: "+strings.Join(classNames(), ", "))
	fl.StringVar(&o.Feature, "feature", "", "what calls are for that do not say (without it, each has to)")
	fl.StringVar(&o.Tenant, "tenant", "", "`TENANT[/TEAM]` on whose behalf")
	fl.StringVar(&o.Expires, "expires", "", "when it ends: a `DAY` (2027-01-31) or a time from now (720h)")
}

// withKeys checks what the flags say and reaches the shared keys.
func (o *keysOptions) withKeys(ctx context.Context, do func(*gateway.Keys, gateway.Identity) error) error {
	who, err := o.identity()
	if err != nil {
		return err
	}
	be, err := o.openFleet(ctx, "keys")
	if err != nil {
		return err
	}
	defer be.close()
	if err := do(gateway.NewKeys(be.rdb, nil), who); err != nil {
		var wrong *gateway.IdentityError
		if errors.As(err, &wrong) {
			return usageErrorf("%v", err)
		}
		return err
	}
	return be.lim.Note(ctx, limiter.Event{Kind: "keys", Subject: who.Name, By: operator(), Text: fmt.Sprintf("key %s for class %s, feature %s", who.Name, who.Class, orElse(who.Feature, "any"))})
}

func (o *keysOptions) identity() (gateway.Identity, error) {
	c, err := o.config()
	if err != nil {
		return gateway.Identity{}, err
	}
	who := gateway.Identity{Name: orElse(o.Name, o.Feature), Project: c.Gemini.Project, Class: o.Class, Feature: o.Feature}
	if who.Name == "" {
		return who, usageErrorf("who is it for? give --name or --feature")
	}
	if !slices.Contains(classNames(), o.Class) {
		return who, usageErrorf("--class %s: known are %s", o.Class, strings.Join(classNames(), ", "))
	}
	if o.Feature != "" {
		if err := c.featureOK("--feature", o.Feature); err != nil {
			return who, &usageError{err}
		}
	}
	who.Path.Tenant, who.Path.Team, _ = strings.Cut(o.Tenant, "/")
	if o.Expires != "" {
		if who.Expires, err = o.expiry(); err != nil {
			return who, err
		}
	}
	return who, nil
}

func (o *keysOptions) expiry() (time.Time, error) {
	if d, err := time.ParseDuration(o.Expires); err == nil && d > 0 {
		return o.now().Add(d), nil
	}
	day, err := time.ParseInLocation(time.DateOnly, o.Expires, time.Local)
	if err != nil || !day.After(o.now()) {
		return day, usageErrorf("--expires %s: want a day to come, such as 2027-01-31, or a time from now, such as 720h", o.Expires)
	}
	return day, nil
}

// existing reads the key to adopt. It is no argument: those are seen by
// everyone on the machine and kept by the shell.
func (o *keysOptions) existing() (string, error) {
	if o.FromEnv != "" {
		if key := strings.TrimSpace(os.Getenv(o.FromEnv)); key != "" {
			return key, nil
		}
		return "", usageErrorf("--from-env: the variable %s is not set", o.FromEnv)
	}
	if in, ok := o.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		o.say("The Gemini key to adopt (not shown):")
		key, err := term.ReadPassword(int(in.Fd()))
		return strings.TrimSpace(string(key)), err
	}
	line, err := bufio.NewReader(o.In).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", usageErrorf("no key on standard input (%v); pipe it in, or name its variable with --from-env", err)
	}
	return line, nil
}

func newKeysListCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show who has a key; never the key itself",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			be, err := f.openFleet(cmd.Context(), "keys")
			if err != nil {
				return err
			}
			defer be.close()
			all, err := gateway.NewKeys(be.rdb, nil).List(cmd.Context())
			if err != nil {
				return err
			}
			return f.printKeys(all)
		},
	}
	f.addOutputFlag(cmd)
	return cmd
}

func (f *factory) printKeys(all []gateway.Identity) error {
	if len(all) == 0 {
		f.say("no keys yet; `nightshift keys add` makes one, `nightshift keys adopt` takes a team's own")
		if f.opts.output != "json" {
			return nil
		}
		all = []gateway.Identity{}
	}
	now := f.now()
	t := newTable("ID", "NAME", "PROJECT", "CLASS", "FEATURE", "TENANT", "MADE", "STATE")
	for _, k := range all {
		tenant := strings.Trim(k.Path.Tenant+"/"+k.Path.Team, "/")
		t.row(k.ID, k.Name, k.Project, k.Class, orElse(k.Feature, "(each call names it)"), tenant, clock(k.Created, now), keyState(k, now))
	}
	return f.print(t, all)
}

func keyState(k gateway.Identity, now time.Time) string {
	kind := "made here"
	if k.Adopted {
		kind = "adopted"
	}
	switch {
	case !k.Revoked.IsZero():
		return "revoked " + clock(k.Revoked, now)
	case !k.Expires.IsZero() && !k.Expires.After(now):
		return "expired " + clock(k.Expires, now)
	case !k.Expires.IsZero():
		return kind + ", until " + clock(k.Expires, now)
	}
	return kind
}

func newKeysRevokeCmd(f *factory) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a key; every gateway refuses it within a second",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			be, err := f.openFleet(cmd.Context(), "keys")
			if err != nil {
				return err
			}
			defer be.close()
			who, err := gateway.NewKeys(be.rdb, nil).Revoke(cmd.Context(), args[0])
			if errors.Is(err, gateway.ErrUnknownKey) {
				return usageErrorf("no key %q; `nightshift keys list` shows them", args[0])
			}
			if err != nil {
				return err
			}
			f.say("%s (%s) is revoked", who.ID, who.Name)
			return be.lim.Note(cmd.Context(), limiter.Event{Kind: "keys", Subject: who.Name, By: operator(), Text: "key " + who.Name + " (" + who.ID + ") is revoked"})
		},
	}
}
