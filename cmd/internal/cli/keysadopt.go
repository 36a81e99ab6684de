package cli

import (
	"bufio"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"nightshift/limiter/gateway"
)

func newKeysAdoptCmd(f *factory) *cobra.Command {
	o := &keysOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "adopt --name NAME --class CLASS --feature FEATURE",
		Short: "Let a team's existing Gemini key stand for it: clients change the base URL only",
		Long: "Reads a Gemini key from standard input (hidden at a terminal) or from the variable named by --from-env, and\n" +
			"keeps its hash. Calls that come with it count for its class and feature; the key itself is never sent on.",
		Example: "  nightshift keys adopt --feature chat < team-key.txt\n" +
			"  nightshift keys adopt --feature chat --from-env TEAM_KEY --rpm 300",
		Args: noArgument(": pipe the key in, or name its variable with --from-env; the shell may have kept the key in its history"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.make(cmd, func(ctx context.Context, keys *gateway.Keys, who gateway.Identity) (string, error) {
				key, err := o.existing(o.FromEnv)
				if err != nil {
					return "", err
				}
				return keys.Adopt(ctx, key, who)
			})
		},
	}
	o.addIdentityFlags(cmd)
	cmd.Flags().StringVar(&o.FromEnv, "from-env", "", "the `VARIABLE` that holds the key (default: standard input)")
	return cmd
}

// existing reads a key that somebody has already. It is no argument: those are
// seen by everyone on the machine and kept by the shell.
func (f *factory) existing(fromEnv string) (string, error) {
	if fromEnv != "" {
		if key := strings.TrimSpace(os.Getenv(fromEnv)); key != "" {
			return key, nil
		}
		if likeSecret(fromEnv) {
			return "", usageErrorf("--from-env: want the name of a variable that holds the key; there is none of that name")
		}
		return "", usageErrorf("--from-env: the variable %s is not set", fromEnv)
	}
	if in, ok := f.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		f.say("The Gemini key to adopt (not shown):")
		key, err := term.ReadPassword(int(in.Fd()))
		return strings.TrimSpace(string(key)), err
	}
	line, err := bufio.NewReader(f.In).ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", usageErrorf("no key on standard input (%v); pipe it in, or name its variable with --from-env", err)
	}
	return line, nil
}
