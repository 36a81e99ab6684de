package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

type explainOptions struct {
	*factory
	Model    string
	Class    string
	Tenant   string
	Team     string
	Key      string
	Feature  string
	Run      string
	Priority string
	Input    int64
	Output   int64
	Prompt   string
}

func newQuotaExplainCmd(f *factory) *cobra.Command {
	o := &explainOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "explain MODEL --class CLASS",
		Short: "Say whether a call would be admitted now; else what is missing, and until when",
		Long: "Asks the limiter what it would answer to a call now, and changes nothing: nothing is charged, nobody gets a\n" +
			"place. Without tokens or a prompt the call is taken to be like those of its class and feature in the last hour.",
		Example: "  nightshift quota explain gemini-3.5-flash --class bulk --tenant acme \\\n" +
			"      --input-tokens 2000 --output-tokens 500\n" +
			"  nightshift quota explain gemini-3.5-flash --class interactive --prompt prompt.txt",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = args[0]
			return runQuotaExplain(cmd.Context(), o, cmd.Flags().Changed)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Class, "class", "bulk", "as which `CLASS`: "+strings.Join(classNames(), ", "))
	fl.StringVar(&o.Tenant, "tenant", "", "on whose behalf: `TENANT`, TENANT/TEAM or ORGANIZATION/TENANT/TEAM")
	fl.StringVar(&o.Team, "team", "", "the `TEAM`, where --tenant does not say")
	fl.StringVar(&o.Key, "key", "", "with which of our own keys, by its `NAME` or id")
	fl.StringVar(&o.Feature, "feature", "", "for which `FEATURE`")
	fl.StringVar(&o.Run, "run", "", "for which `RUN`")
	fl.StringVar(&o.Priority, "priority", "", "high, normal or low")
	fl.Int64Var(&o.Input, "input-tokens", 0, "input tokens of the call")
	fl.Int64Var(&o.Output, "output-tokens", 0, "output tokens of the call, thinking included")
	fl.StringVar(&o.Prompt, "prompt", "", "estimate the call from a `FILE`: a prompt, or a request's JSON body")
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions(classNames(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	f.addOutputFlag(cmd)
	return cmd
}

// explained is what quota explain prints as JSON.
type explained struct {
	Sentence string          `json:"sentence"`
	Class    string          `json:"class"`
	Path     limiter.Path    `json:"path"`
	Feature  string          `json:"feature,omitempty"`
	Amounts  limiter.Amounts `json:"amounts"` // indexed by unit
	From     string          `json:"amounts_from"`
	limiter.Explanation
	Users   []*userOfQuota `json:"users"` // of the last minute, the largest first
	through time.Time      // when all that waits now is done; zero: not known
}

func runQuotaExplain(ctx context.Context, o *explainOptions, given func(string) bool) error {
	if err := o.check(); err != nil {
		return &usageError{err}
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	e, err := o.explain(ctx, be, given)
	if err != nil {
		return err
	}
	if o.opts.output == "json" {
		return o.print(nil, e)
	}
	fmt.Fprintln(o.Out, e.Sentence)
	if o.opts.output != "plain" {
		fmt.Fprintf(o.Out, "\nthe call: %s (%s)\n", amountsWords(e.Amounts), e.From)
	}
	return o.print(wayTable(e), e)
}

func (o *explainOptions) check() error {
	switch {
	case !slices.Contains(classNames(), o.Class):
		return fmt.Errorf("--class %s: known are %s", o.Class, strings.Join(classNames(), ", "))
	case o.Input < 0 || o.Output < 0:
		return fmt.Errorf("--input-tokens and --output-tokens: want 0 or more")
	case o.Priority == "":
		return nil
	}
	return oneOf("--priority", o.Priority, string(limiter.High), string(limiter.Normal), string(limiter.Low))
}

func (o *explainOptions) explain(ctx context.Context, be *backend, given func(string) bool) (*explained, error) {
	lane, err := be.laneOf(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	q := limiter.Request{Lane: lane, Class: o.Class, Feature: o.Feature}
	if q.Path, err = o.path(ctx, be); err != nil {
		return nil, err
	}
	e := &explained{Class: o.Class, Path: q.Path, Feature: o.Feature}
	if q.Amounts, e.From, err = o.amounts(ctx, be, lane, given); err != nil {
		return nil, err
	}
	e.Amounts = q.Amounts
	if e.Explanation, err = be.lim.Explain(ctx, q); err != nil {
		return nil, err
	}
	samples, err := be.usage(ctx, lane.Model, gemini.Step5s, o.now().Add(-time.Minute), o.now())
	if err != nil {
		return nil, err
	}
	e.Users = whoTable(samples, o.now().Add(-time.Minute), o.now())
	if waits := waiting(e.Lane); waits > 0 {
		look, err := be.outlook(ctx, lane, o.now())
		if err != nil {
			return nil, err
		}
		if at, known := newCourse(e.Lane, o.Class, look.cost, look.pace, o.now()).after(float64(waits)); known {
			e.through = at
		}
	}
	e.Sentence = explainWords{conf: be.conf, now: o.now()}.sentence(e)
	return e, nil
}

// laneOf finds a model's lane in the shared state; an alias is the model that it
// counts for.
func (b *backend) laneOf(ctx context.Context, model string) (limiter.Lane, error) {
	lanes, err := b.lim.Lanes(ctx)
	if err != nil {
		return limiter.Lane{}, err
	}
	for _, l := range lanes {
		if equalModel(model, l.Lane) || model == l.Lane.String() {
			return l.Lane, nil
		}
	}
	if known, err := b.conf.laneMap(); err == nil {
		if lane, _, err := known.Lookup(model); err == nil && slices.ContainsFunc(lanes, func(l limiter.LaneConfig) bool { return l.Lane == lane }) {
			return lane, nil
		}
	}
	return limiter.Lane{}, noLane(model, lanes)
}

// levels is the path as the flags have it.
func (o *explainOptions) levels() (limiter.Path, error) {
	p := limiter.Path{Team: o.Team, Key: o.Key, Priority: limiter.Priority(o.Priority)}
	switch levels := strings.Split(o.Tenant, "/"); len(levels) {
	case 1:
		p.Tenant = levels[0]
	case 2:
		p.Tenant, p.Team = levels[0], levels[1]
	case 3:
		p.Organization, p.Tenant, p.Team = levels[0], levels[1], levels[2]
	default:
		return p, usageErrorf("--tenant %q: want TENANT, TENANT/TEAM or ORGANIZATION/TENANT/TEAM", o.Tenant)
	}
	return p, nil
}

// path is that, with the ids of keys and runs that are named otherwise.
func (o *explainOptions) path(ctx context.Context, be *backend) (limiter.Path, error) {
	p, err := o.levels()
	if err != nil {
		return p, err
	}
	if o.Key != "" {
		node, err := be.keyNamed(ctx, o.Key)
		if err != nil {
			return p, err
		}
		p.Key = strings.TrimPrefix(node, "key/")
	}
	if o.Run == "" {
		return p, nil
	}
	run, err := be.store.Find(ctx, o.Run)
	p.Run = run.ID
	return p, err
}

// amounts is what the call takes, and where that comes from.
func (o *explainOptions) amounts(ctx context.Context, be *backend, lane limiter.Lane, given func(string) bool) (limiter.Amounts, string, error) {
	a, from := limiter.Amounts{limiter.Requests: 1, limiter.Concurrency: 1}, "as given"
	switch {
	case o.Prompt != "":
		got, err := o.estimate(lane, be.conf.prices())
		if err != nil {
			return a, "", err
		}
		a, from = got, "estimated from "+o.Prompt
	case !given("input-tokens") && !given("output-tokens"):
		sum, err := o.lastHour(ctx, be, lane)
		if err != nil {
			return a, "", err
		}
		a[limiter.InputTokens], a[limiter.OutputTokens] = 500, 500
		if from = "a guess: no such call in the last hour"; sum.Requests > 0 {
			a[limiter.InputTokens], a[limiter.OutputTokens] = sum.InputTokens/sum.Requests, sum.OutputTokens/sum.Requests
			from = "like those of the last hour"
		}
	}
	if given("input-tokens") {
		a[limiter.InputTokens] = o.Input
	}
	if given("output-tokens") {
		a[limiter.OutputTokens] = o.Output
	}
	a[limiter.TotalTokens] = a[limiter.InputTokens] + a[limiter.OutputTokens]
	a[limiter.MicroUSD], _ = be.conf.prices().Cost(orElse(be.conf.priceOf(lane.Model), lane.Model), gemini.Usage{Prompt: a[limiter.InputTokens], Candidates: a[limiter.OutputTokens]}, o.now())
	return a, from, nil
}

// lastHour adds up the calls of the class, and of the feature where one is named.
func (o *explainOptions) lastHour(ctx context.Context, be *backend, lane limiter.Lane) (sum gemini.UsageSample, err error) {
	samples, err := be.usage(ctx, lane.Model, gemini.StepMinute, o.now().Add(-time.Hour), o.now())
	for _, s := range samples {
		if s.Class == o.Class && (o.Feature == "" || s.Feature == o.Feature) {
			sum.Merge(s)
		}
	}
	return sum, err
}

// estimate counts a prompt, or a whole request.
func (o *explainOptions) estimate(lane limiter.Lane, prices *gemini.PriceBook) (limiter.Amounts, error) {
	body, err := os.ReadFile(o.Prompt)
	if err != nil {
		return limiter.Amounts{}, err
	}
	if !json.Valid(body) || !strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		type part map[string]any
		body, _ = json.Marshal(part{"contents": []part{{"parts": []part{{"text": string(body)}}}}}) // a string always can be written
	}
	estimator := gemini.Estimator{Prices: prices}
	return estimator.Estimate("generateContent", lane.Model, body)
}
