package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

type rotateOptions struct {
	*factory
	Grace   time.Duration
	Adopt   bool
	FromEnv string
	Expires string
}

func newKeysRotateCmd(f *factory) *cobra.Command {
	o := &rotateOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "rotate ID|NAME",
		Short: "Give a key another secret; limits and counts stay",
		Long: "Makes another secret for the same identity and prints it once. The id stays, and with it limits, counts and\n" +
			"what reports say. The secret of before holds for the grace time, so that clients can change over one by one.",
		Example: "  nightshift keys rotate web-chat                 # the old secret holds until tomorrow\n" +
			"  nightshift keys rotate web-chat --grace 0       # it leaked: it ends within a second\n" +
			"  nightshift keys rotate web-chat --adopt < new-team-key.txt",
		Args: oneKeyNamed,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	fl := cmd.Flags()
	fl.DurationVar(&o.Grace, "grace", 24*time.Hour, "how long the secret of before still holds; 0 ends it now")
	fl.BoolVar(&o.Adopt, "adopt", false, "take a key that is there already, from standard input, as the new secret")
	fl.StringVar(&o.FromEnv, "from-env", "", "the `VARIABLE` that holds the key to adopt")
	fl.StringVar(&o.Expires, "expires", "", "another end of the identity: a `DAY` (2027-01-31) or a time from now (720h)")
	return cmd
}

func (o *rotateOptions) run(cmd *cobra.Command, id string) error {
	r, err := o.rotation()
	if err != nil {
		return err
	}
	return o.withKeys(cmd.Context(), func(_ *backend, keys *gateway.Keys) (*limiter.Event, error) {
		secret, who, err := keys.Rotate(cmd.Context(), id, r)
		if err != nil {
			return nil, noKey(id, err)
		}
		now := o.now()
		old := "the one of before is refused from now on"
		if o.Grace > 0 {
			old = "the one of before holds until " + clock(now.Add(o.Grace), now)
		}
		fmt.Fprintln(o.Out, cmp.Or(secret, who.ID))
		if secret != "" {
			o.say("%s (%s): the new secret is shown this once; %s", who.ID, who.Name, old)
		} else {
			o.say("%s (%s): the adopted key stands for it now; %s", who.ID, who.Name, old)
		}
		return &limiter.Event{Subject: who.Name, Text: fmt.Sprintf("key %s (%s) has another secret; %s", who.Name, who.ID, old)}, nil
	})
}

// rotation reads the flags.
func (o *rotateOptions) rotation() (r gateway.Rotation, err error) {
	if o.Grace < 0 || o.Grace > 90*24*time.Hour {
		return r, usageErrorf("--grace %s: want 0 to 2160h (90 days)", o.Grace)
	}
	r.Grace = o.Grace
	if o.Expires != "" {
		if r.Expires, err = o.expiry(o.Expires); err != nil {
			return r, err
		}
	}
	if o.Adopt || o.FromEnv != "" {
		r.Adopt, err = o.existing(o.FromEnv)
	}
	return r, err
}
