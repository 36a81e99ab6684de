package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

type rampStartOptions struct {
	rampOptions
	To       string
	Over     time.Duration
	Steps    string
	HoldOver []string
	Keep     string
}

const defaultSteps = "5%,25%,50%,100%"

func newRampStartCmd(f *factory) *cobra.Command {
	o := &rampStartOptions{rampOptions: rampOptions{factory: f}}
	cmd := &cobra.Command{
		Use:   "start SCOPE --from MODEL --to MODEL --over DURATION",
		Short: "Begin to move calls to another model",
		Long: "Moves the first step's share of the callers at once, in every gateway within a second; the scheduler moves it on.\n" +
			"Each step has an equal part of --over, in time that goes well, and ends only after enough moved calls to judge by.\n\n" +
			"The turns of a conversation stay at one model: it is told by x-nightshift-session, or by its key and first message.\n" +
			"A request that the new model does not take (longer than its context, with cached contents, with what\n" +
			"degrade.models does not allow for the pair) stays with the old one and is counted.\n\n" +
			"--hold-over sets this ramp's own limits over those of the configuration (ramps): " + strings.Join(limitNames, ", ") + ".",
		Example: "  nightshift ramp start feature/chat --from gemini-2.5-flash --to gemini-3.5-flash --over 2h\n" +
			"  nightshift ramp start tenant/acme --from gemini-2.5-flash --to gemini-3.5-flash \\\n" +
			"      --over 30m --steps 10%,100%\n" +
			"  nightshift ramp start route/chat-model --to gemini-3.5-flash --over 2h \\\n" +
			"      --hold-over p95=4s,refused=2%",
		Args: oneScope,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Scope = args[0]
			return runRampStart(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.From, "from", "", "the `MODEL` whose calls are moved (of an alias: the one that it stands for)")
	fl.StringVar(&o.To, "to", "", "the `MODEL` that they are moved to")
	fl.DurationVar(&o.Over, "over", 0, "good time in which all calls are moved, as in 2h")
	fl.StringVar(&o.Steps, "steps", defaultSteps, "rising `SHARES` of the callers, the last of them 100%")
	fl.StringSliceVar(&o.HoldOver, "hold-over", nil, "`LIMITS` beyond which it stands still, as in p95=4s,refused=2%")
	fl.StringVar(&o.Keep, "keep", string(gemini.StickyConversation), "what stays at one model: conversation, key or call")
	return cmd
}

func runRampStart(ctx context.Context, o *rampStartOptions) error {
	r, err := o.ramp()
	if err != nil {
		return err
	}
	be, err := o.openFleet(ctx, "ramp")
	if err != nil {
		return err
	}
	defer be.close()
	if r.Scope, err = be.keyScope(ctx, r.Scope); err != nil {
		return err
	}
	if err := be.checkRamp(ctx, be.ramps(o.operator()), &r); err != nil {
		return err
	}
	return o.start(ctx, be, r)
}

// start begins a ramp that was checked.
func (o *rampStartOptions) start(ctx context.Context, be *backend, r gemini.Ramp) error {
	r, err := be.ramps(o.operator()).Start(ctx, r)
	if err != nil {
		return err
	}
	o.deed.about("ramp " + rampTitle(r))
	o.deed.changed("all calls go to "+r.From, limiter.Share(r.SharePPM())+" of the callers go to "+r.To)
	for _, named := range []struct{ flag, name, model string }{{"from", o.From, r.From}, {"to", o.To, r.To}} {
		if named.name != "" && gemini.NormalizeModel(named.name) != named.model {
			o.say("note: --%s %s stands for %s: the ramp keeps to that model", named.flag, named.name, named.model)
		}
	}
	fmt.Fprintf(o.Out, "%s begins at %s of the callers; all are moved after %s of good time.\n", rampTitle(r), limiter.Share(r.SharePPM()), r.Over)
	o.say("Watch it: nightshift ramp show %s. Take it back: nightshift ramp rollback %s", r.Scope, r.Scope)
	o.advise(be.conf, r)
	return o.warnUnwatched(ctx, be)
}

// ramp reads what the command line says.
func (o *rampStartOptions) ramp() (r gemini.Ramp, err error) {
	if r.Scope, err = o.scope(); err != nil {
		return r, err
	}
	switch {
	case o.To == "":
		return r, usageErrorf("--to: want the model that the calls are moved to")
	case o.Over < time.Second:
		return r, usageErrorf("--over %s: want a time of at least 1s, as in 2h", o.Over)
	}
	r.From, r.To, r.Over, r.Sticky, r.Seed = o.From, o.To, o.Over, gemini.RampSticky(o.Keep), rand.Text()
	if err := oneOf("--keep", o.Keep, "conversation", "key", "call"); err != nil {
		return r, &usageError{err}
	}
	if r.Steps, err = readSteps(o.Steps); err != nil {
		return r, usageErrorf("--steps %s: %v", o.Steps, err)
	}
	r.Limits, err = readLimits(o.HoldOver)
	return r, err
}

// keyScope puts a key's id in the place of its name.
func (b *backend) keyScope(ctx context.Context, s gemini.RampScope) (gemini.RampScope, error) {
	if s.Kind != "key" {
		return s, nil
	}
	all, err := gateway.NewKeys(b.rdb, nil).List(ctx)
	if err != nil {
		return s, err
	}
	at := slices.IndexFunc(all, func(k gateway.Identity) bool { return k.ID == s.Name || k.Path.Key == s.Name })
	if at < 0 {
		at = slices.IndexFunc(all, func(k gateway.Identity) bool { return k.Name == s.Name && k.Revoked.IsZero() })
	}
	if at < 0 {
		return s, usageErrorf("no key %q; `nightshift keys list` shows them", s.Name)
	}
	s.Name = cmp.Or(all[at].Path.Key, all[at].ID)
	return s, nil
}

// checkRamp wants models with limits, and no other way for the same calls. In the
// place of aliases it puts the models that they stand for now: a ramp keeps to its
// models.
func (b *backend) checkRamp(ctx context.Context, x *scheduler.Ramps, r *gemini.Ramp) error {
	if r.Scope.Kind == "feature" {
		if err := b.conf.featureOK("SCOPE", r.Scope.Name); err != nil {
			return &usageError{err}
		}
	}
	lanes, err := b.conf.laneMap()
	if err != nil {
		return err
	}
	routes, err := b.liveRoutes(lanes)
	if err != nil {
		return err
	}
	others, err := x.Store.Ramps(ctx)
	if err != nil {
		return err
	}
	if err := routes.CheckRamp(r, others); err != nil {
		return usageErrorf("--%v", err)
	}
	r.From, r.To = routes.Real(r.From), routes.Real(r.To)
	own := b.conf.rampLimits(r.Scope)
	r.Limits = scheduler.RampLimitsOver(r.Limits, own)
	return nil
}

// advise says what would surprise.
func (o *rampStartOptions) advise(c *loaded, r gemini.Ramp) {
	declared := slices.ContainsFunc(c.Degrade.Models, func(p DegradePairConfig) bool {
		return c.sameModel(p.From, r.From) && c.sameModel(p.To, r.To)
	})
	if !declared {
		o.say("note: degrade.models has no pair from %s to %s, so requests go there as they are; declare one to set how it thinks, what is dropped, and what stays", r.From, r.To)
	}
	from, to := c.Models[c.bucketName(r.From)].LimitConfig, c.Models[c.bucketName(r.To)].LimitConfig
	for _, l := range []struct {
		name     string
		from, to int64
	}{{"rpm", from.RPM, to.RPM}, {"input_tpm", from.InputTPM, to.InputTPM}, {"rpd", from.RPD, to.RPD}} {
		if l.to > 0 && (l.from == 0 || l.to < l.from) {
			o.say("note: %s has %s %d, %s has %s: all of its calls may find no room", r.To, l.name, l.to, r.From, orNone(l.from))
		}
	}
}

func orNone(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// bucketName is the key of a model in the configuration.
func (c *Config) bucketName(name string) string {
	for bucket := range c.Models {
		if c.sameModel(bucket, name) {
			return bucket
		}
	}
	return name
}
