package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini/geminitest"
)

type simOptions struct {
	*factory
	Listen   string
	File     string
	Model    string
	Limits   geminitest.Limits
	Counting string
	Latency  geminitest.Latency
	Faults   []string
	Keys     []string
	Seed     uint64
	latency  bool // a latency flag was given
}

func newGeminiSimCmd(f *factory) *cobra.Command {
	o := &simOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "gemini-sim",
		Short: "Serve a simulated Gemini API that any SDK can be pointed at",
		Long: "Serves a simulated Gemini API with quotas, real-looking errors and an account of every call. Models and limits\n" +
			"come from the configuration, from --sim-config, or from --model with its limits. GET /sim/stats and /sim/calls\n" +
			"tell what it saw; while it runs, POST /sim/slow {\"factor\": 3}, /sim/faults {\"faults\": [\"503=1%\"], \"replace\": true},\n" +
			"/sim/keys/revoke {\"key\": \"…\"} and /sim/reset change how it behaves.\n\n" + faultHelp + faultKinds(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.latency = cmd.Flags().Changed("latency") || cmd.Flags().Changed("per-token") || cmd.Flags().Changed("sigma")
			return runGeminiSim(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Listen, "listen", "127.0.0.1:8787", "`ADDRESS` to listen at")
	fl.StringVar(&o.File, "sim-config", "", "YAML `FILE` with the whole simulation")
	fl.StringVar(&o.Model, "model", "", "serve this one model, with the limits below (0: no limit, -1: no quota)")
	fl.Int64Var(&o.Limits.RPM, "rpm", 0, "requests a minute")
	fl.Int64Var(&o.Limits.InputTPM, "input-tpm", 0, "input tokens a minute")
	fl.Int64Var(&o.Limits.RPD, "rpd", 0, "requests a Pacific day")
	fl.Int64Var(&o.Limits.Concurrency, "concurrency", 0, "calls at once")
	fl.StringVar(&o.Counting, "counting", "", "sliding_minute, fixed_minute or token_bucket")
	fl.DurationVar(&o.Latency.Base, "latency", 300*time.Millisecond, "time before an answer begins")
	fl.DurationVar(&o.Latency.PerToken, "per-token", 6*time.Millisecond, "time for each token of it")
	fl.Float64Var(&o.Latency.Sigma, "sigma", 0.3, "spread of the latency; 0 for none")
	fl.StringArrayVar(&o.Faults, "fault", nil, "a `FAULT` to inject, for example 503=1% or revoke-key@100; may be given several times")
	fl.StringSliceVar(&o.Keys, "key", nil, "accept only these API keys")
	fl.Uint64Var(&o.Seed, "seed", 1, "seed of everything random")
	return cmd
}

const faultHelp = "A fault is KIND=SHARE, KIND@CALL, KIND@CALL-CALL or KIND~TEXT-IN-THE-PROMPT; for example 429-rpm=2%, 503=1%,\n" +
	"html=0.5%, cut=1%, hang@40, revoke-key@100, safety~weapon. The kinds:\n"

// faultKinds lists what --fault takes, in lines that fit a screen.
func faultKinds() string {
	var b strings.Builder
	width := 0
	for _, kind := range geminitest.FaultKinds() {
		if kind == geminitest.FaultAnswer {
			continue // only Go code can say what it answers
		}
		if width == 0 || width+len(kind)+1 > 100 {
			b.WriteString("\n ")
			width = 1
		}
		b.WriteString(" " + string(kind))
		width += len(kind) + 1
	}
	return b.String()
}

// config puts the flags over the file over what nightshift is configured with.
func (o *simOptions) config() (geminitest.Config, error) {
	var c geminitest.Config
	switch {
	case o.File != "":
		b, err := os.ReadFile(o.File)
		if err != nil {
			return c, err
		}
		if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
			return c, configErrorf("%s:\n%s", o.File, yamlFault(err))
		}
	case o.Model != "":
		c.Models = []geminitest.Model{{Name: o.Model, Limits: o.Limits, Embeds: strings.Contains(o.Model, "embedding")}}
		c.Latency = o.Latency
	default:
		conf, err := o.factory.config()
		if err != nil {
			return c, err
		}
		c = conf.simulation()
		if len(c.Models) == 0 {
			return c, errors.New("no models: give --model with its limits, or a configuration that has some")
		}
	}
	if o.latency {
		c.Latency = o.Latency
	}
	if o.Counting != "" {
		c.Counting = geminitest.Counting(o.Counting)
	}
	c.Keys = append(c.Keys, o.Keys...)
	c.Seed = o.Seed
	for _, text := range o.Faults {
		f, err := geminitest.ParseFault(text)
		if err != nil {
			return c, usageErrorf("--fault: %v", err)
		}
		c.Faults = append(c.Faults, f)
	}
	return c, nil
}

func runGeminiSim(ctx context.Context, o *simOptions) error {
	c, err := o.config()
	if err != nil {
		return err
	}
	sim, err := geminitest.New(c)
	if err != nil {
		return usageErrorf("%v", err)
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	for _, m := range c.Models {
		o.say("%s: %s", m.Name, simLimits(m.Limits))
	}
	fmt.Fprintf(o.Out, "http://%s\n", l.Addr())
	o.say("use it with --gemini http://%s and any key; counts are at http://%s/sim/stats", l.Addr(), l.Addr())
	srv := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func simLimits(l geminitest.Limits) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		name string
	}{{l.RPM, "rpm"}, {l.InputTPM, "input_tpm"}, {l.RPD, "rpd"}, {l.Concurrency, "concurrency"}} {
		if p.n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", p.name, p.n))
		}
	}
	return orElse(strings.Join(parts, ", "), "no limits")
}
