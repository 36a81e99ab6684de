package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

type rampOptions struct {
	*factory
	Scope string
	From  string
}

func newRampCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ramp",
		Short: "Move a feature, tenant, key or alias to another model step by step, and back at once",
		Long: "A ramp moves the calls of a scope that are for one model to another one: first of a few callers, then of more,\n" +
			"while those that are moved fare well. It stands still while they do not (429s, errors, other answers, time),\n" +
			"goes back a step when that does not end, and is rolled back by command.\n\n" +
			"SCOPE is feature/NAME, tenant/NAME, team/NAME, key/ID or route/ALIAS (routes in the configuration). Calls for\n" +
			"generated text through the gateway are moved. Rows of runs are not: a run names its model, so bulk moves with a\n" +
			"new run and --model. Embeddings are not: vectors of two models do not compare.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRampStartCmd(f), newRampListCmd(f), newRampShowCmd(f), newRampHoldCmd(f), newRampResumeCmd(f),
		newRampRollbackCmd(f), newRampFinishCmd(f), newRampForgetCmd(f))
	return cmd
}

// ramps are the project's, as this person commands them.
func (b *backend) ramps(owner string) *scheduler.Ramps {
	return &scheduler.Ramps{Control: b.control(), Store: gemini.NewRampStore(b.rdb, b.conf.scope()), Owner: owner}
}

// scope reads what a person named.
func (o *rampOptions) scope() (gemini.RampScope, error) {
	s, err := gemini.ParseRampScope(o.Scope)
	if err != nil {
		return s, usageErrorf("SCOPE %v", err)
	}
	return s, nil
}

// on finds a ramp and does something with it.
func (o *rampOptions) on(ctx context.Context, do func(*backend, *scheduler.Ramps, gemini.Ramp) error) error {
	scope, err := o.scope()
	if err != nil {
		return err
	}
	be, err := o.openFleet(ctx, "ramp")
	if err != nil {
		return err
	}
	defer be.close()
	if scope, err = be.keyScope(ctx, scope); err != nil {
		return err
	}
	x := be.ramps(operator())
	r, err := x.Find(ctx, scope, be.conf.realModel(o.From))
	if err != nil {
		return err
	}
	return do(be, x, r)
}

func (o *rampOptions) addFromFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.From, "from", "", "the `MODEL` whose calls the ramp moves, where the scope has several ramps")
}

// newRampAct is a command that does one thing to a ramp.
func newRampAct(f *factory, use, short, long string, do func(context.Context, *rampOptions, *backend, *scheduler.Ramps, gemini.Ramp) error) (*cobra.Command, *rampOptions) {
	o := &rampOptions{factory: f}
	cmd := &cobra.Command{
		Use: use + " SCOPE", Short: short, Long: long, Args: oneScope,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Scope = args[0]
			return o.on(cmd.Context(), func(be *backend, x *scheduler.Ramps, r gemini.Ramp) error {
				return f.deed.toRamp(cmd.Context(), x, r, func() error { return do(cmd.Context(), o, be, x, r) })
			})
		},
	}
	o.addFromFlag(cmd)
	return cmd, o
}

// oneScope wants one SCOPE.
func oneScope(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("want a SCOPE, as in `%s feature/chat`: %s", cmd.CommandPath(), scopeForms)
	case len(args) > 1:
		return fmt.Errorf("want one SCOPE; %q is another one", args[1])
	}
	return nil
}

const scopeForms = "feature/NAME, tenant/NAME, team/NAME, key/ID or route/ALIAS"

func newRampHoldCmd(f *factory) *cobra.Command {
	reason := ""
	cmd, _ := newRampAct(f, "hold", "Keep a ramp's share as it is until it is resumed", "", func(ctx context.Context, o *rampOptions, _ *backend, x *scheduler.Ramps, r gemini.Ramp) error {
		r, err := x.Hold(ctx, r, reason)
		if err == nil {
			fmt.Fprintf(o.Out, "%s is held at %s; nightshift ramp resume %s lets it go on.\n", rampTitle(r), limiter.Share(r.SharePPM()), r.Scope)
		}
		return err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who see it")
	return cmd
}

func newRampResumeCmd(f *factory) *cobra.Command {
	cmd, _ := newRampAct(f, "resume", "Let a ramp that is held or bad go on from where it is", "", func(ctx context.Context, o *rampOptions, be *backend, x *scheduler.Ramps, r gemini.Ramp) error {
		r, err := x.Resume(ctx, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s goes on at %s.\n", rampTitle(r), limiter.Share(r.SharePPM()))
		return o.warnUnwatched(ctx, be)
	})
	return cmd
}

func newRampRollbackCmd(f *factory) *cobra.Command {
	reason := ""
	cmd, _ := newRampAct(f, "rollback", "Take all calls back to the old model, within a second",
		"Takes all calls back to the old model, in every process within a second, also of a ramp that has finished.",
		func(ctx context.Context, o *rampOptions, be *backend, x *scheduler.Ramps, r gemini.Ramp) error {
			r, err := x.Rollback(ctx, r, reason)
			if err != nil {
				return err
			}
			fmt.Fprintf(o.Out, "%s is rolled back: within a second all calls go to %s again.\n", rampTitle(r), r.From)
			if where := be.conf.says(r); where != "" {
				o.say("note: %s moves them all the same: take it out there and restart the gateways", where)
			}
			return nil
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who see it")
	return cmd
}

func newRampFinishCmd(f *factory) *cobra.Command {
	now := false
	cmd, _ := newRampAct(f, "finish", "End a ramp whose calls are all moved: they stay so until the configuration does",
		"Ends a ramp: nobody watches it any more, and all of its calls stay moved. Write the move into the configuration\n"+
			"then, restart the gateways, and remove what is over with nightshift ramp forget.",
		func(ctx context.Context, o *rampOptions, be *backend, x *scheduler.Ramps, r gemini.Ramp) error {
			r, err := x.Finish(ctx, r, now)
			if err != nil {
				return err
			}
			fmt.Fprintf(o.Out, "%s is finished: all calls go to %s.\n", rampTitle(r), r.To)
			if where := be.conf.says(r); where != "" {
				o.say("%s says the same: once all gateways run with it, nightshift ramp forget %s", where, r.Scope)
				return nil
			}
			o.say("It stays so until the configuration says the same:\n%s", moveLines(r))
			return nil
		})
	cmd.Flags().BoolVar(&now, "now", false, "move all calls at once, whatever the share is")
	return cmd
}

func newRampForgetCmd(f *factory) *cobra.Command {
	force := false
	cmd, _ := newRampAct(f, "forget", "Remove a ramp that is over", "", func(ctx context.Context, o *rampOptions, be *backend, x *scheduler.Ramps, r gemini.Ramp) error {
		if r.Phase == gemini.RampFinished && be.conf.says(r) == "" && !force {
			return fmt.Errorf("%s is finished and the configuration does not say the same: its calls would go back to %s. Write it there:\n%s\nor take them back with nightshift ramp rollback %s",
				rampTitle(r), r.From, moveLines(r), r.Scope)
		}
		if err := x.Forget(ctx, r); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s is forgotten: the configuration decides where its calls go.\n", rampTitle(r))
		return nil
	})
	cmd.Flags().BoolVar(&force, "force", false, "also where the configuration does not say the same as a finished one")
	return cmd
}

func rampTitle(r gemini.Ramp) string { return fmt.Sprintf("%s (%s to %s)", r.Scope, r.From, r.To) }

// says is where the configuration has a ramp's move; "" for nowhere.
func (c *Config) says(r gemini.Ramp) string {
	if r.Scope.Kind == "route" {
		for name, to := range c.Routes {
			if strings.EqualFold(name, r.Scope.Name) && c.sameModel(to, r.To) {
				return "routes." + name
			}
		}
		return ""
	}
	for i, m := range c.Moves {
		if m.Scope == r.Scope.String() && c.sameModel(m.From, r.From) && c.sameModel(m.To, r.To) {
			return fmt.Sprintf("moves[%d]", i)
		}
	}
	return ""
}

// moveLines are what the configuration has to say.
func moveLines(r gemini.Ramp) string {
	if r.Scope.Kind == "route" {
		return fmt.Sprintf("  routes:\n    %s: %s", r.Scope.Name, r.To)
	}
	return fmt.Sprintf("  moves:\n    - {scope: %s, from: %s, to: %s}", r.Scope, r.From, r.To)
}

// warnUnwatched says so when nobody moves ramps on.
func (o *rampOptions) warnUnwatched(ctx context.Context, be *backend) error {
	s, err := be.control().Status(ctx)
	if err == nil && s.Leader == nil {
		o.say("note: no scheduler runs, so nobody moves it on: the share stays as it is until one does (nightshift scheduler)")
	}
	return err
}

// rampFresh is how old the last look may be for a ramp to be watched.
const rampFresh = 30 * time.Second
