package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
)

type gatewayOptions struct {
	*factory
	Listen  string
	Observe bool
	Logs    logFlags
}

func newGatewayCmd(f *factory) *cobra.Command {
	o := &gatewayOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Serve Gemini's own API behind the shared permits, for callers in any language",
		Long: "Serves generateContent, streamGenerateContent, embedContent, batchEmbedContents and countTokens as Gemini does.\n" +
			"Clients change their base URL, and nothing else when their key was adopted (`nightshift keys adopt`).\n" +
			"Calls that cannot go through it take permits at /v1/permits; /openapi.json describes how.\n" +
			"--observe meters and refuses nothing: a week of it tells who eats the quota (`nightshift quota who`).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGateway(cmd.Context(), o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Listen, "listen", "", "`ADDRESS` to listen at (default gateway.listen)")
	fl.BoolVar(&o.Observe, "observe", false, "meter and refuse nothing; unknown keys pass too")
	o.Logs.add(cmd)
	return cmd
}

func runGateway(ctx context.Context, o *gatewayOptions) error {
	be, err := o.openService(ctx, "gateway", o.Logs)
	if err != nil {
		return err
	}
	defer be.close()
	be.conf.Gateway.Listen = orElse(o.Listen, be.conf.Gateway.Listen)
	be.conf.Gateway.Observe = be.conf.Gateway.Observe || o.Observe
	l, err := gateway.Listen(be.conf.Gateway.Listen)
	if err != nil {
		return fmt.Errorf("gateway.listen: %w", err)
	}
	return be.serveGateway(ctx, l)
}

// serveGateway serves on l until the context ends and its calls have.
func (b *backend) serveGateway(ctx context.Context, l net.Listener) error {
	watched, err := b.watch("gateway", b.conf.Gateway.Metrics)
	if err != nil {
		return firstError(err, l.Close())
	}
	defer watched.close()
	metrics := watched.metrics()
	out, err := b.newOutlet("gateway", b.conf.Gateway.Observe, metrics)
	if err != nil {
		return firstError(err, l.Close())
	}
	defer out.close(b.log)
	keys := gateway.NewKeys(b.rdb, nil)
	g, err := gateway.New(gateway.Config{
		Transport: out.transport, BaseURL: b.conf.apiURL(), Vertex: b.conf.vertexPlace(), Keys: keys, Classes: classNames(), Features: b.conf.Features, Lanes: out.lanes, Routes: out.routes,
		PathPrefix: b.conf.Gateway.PathPrefix, Observe: b.conf.Gateway.Observe,
		Ready: b.ready, Local: gateway.Passing(out.transport, keys),
		Direct: func(ctx context.Context, d gemini.DirectCall) error {
			d.Prices = b.conf.prices()
			return gemini.Direct(ctx, b.lim, out.lanes, gemini.Fan(out.kept, metrics), d, time.Now())
		},
		Permits: gemini.NewLender(out.transport, gemini.NewLoanStore(b.rdb, b.conf.scope(), nil)),
		Logger:  b.log,
	})
	if err != nil {
		return firstError(fmt.Errorf("gateway.%w", err), l.Close())
	}
	secure, err := b.tlsOf(ctx)
	if err != nil {
		return firstError(err, l.Close())
	}
	b.tellGateway(watched, g)
	b.started(ctx, "gateway", "listen", b.conf.Gateway.TLS.scheme()+"://"+l.Addr().String()+b.conf.Gateway.PathPrefix,
		"observe", b.conf.Gateway.Observe, "metrics", watched.url)
	b.warnGateway(ctx, l)
	go b.keepSoft(ctx, out.transport)
	go b.watchLeader(ctx)
	s := b.conf.Gateway.server()
	s.TLS, s.Logger = secure, b.log
	return s.Serve(ctx, l, g)
}

// server is how it is served, but for TLS and log.
func (c GatewayConfig) server() gateway.Server {
	return gateway.Server{Conns: c.MaxConnections, Leave: c.Leave}
}

// ready says whether calls can be admitted: the shared state is there and has limits.
func (b *backend) ready(ctx context.Context) error {
	lanes, err := b.lim.Lanes(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", gateway.ErrAway, cmp.Or(b.redisGone(err), err))
	case len(lanes) == 0:
		return errors.New("no lane has limits; see: nightshift init")
	}
	return nil
}

// warnGateway says what would surprise the callers.
func (b *backend) warnGateway(ctx context.Context, l net.Listener) {
	if keys, err := gateway.NewKeys(b.rdb, nil).List(ctx); err == nil && len(keys) == 0 && !b.conf.Gateway.Observe {
		b.log.Warn("nobody has a key: every call will be refused", "remedy", "nightshift keys adopt, or nightshift keys add")
	}
	if b.conf.Gateway.Observe {
		b.log.Warn("observing: nothing is refused and unknown keys pass; whoever reaches this address spends the project's quota")
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && b.conf.Gateway.TLS.Cert == "" {
		b.log.Warn("reachable from other machines over plain HTTP: keys travel unencrypted", "listen", a.String(), "remedy", "gateway.tls, or a proxy in front that speaks it")
	}
	if b.conf.Gemini.API == "simulated" {
		b.log.Warn("the API is simulated by this process: every call gets a made-up answer")
	}
}

// keepSoft tells the transport what it may let through while Redis is away: the
// gateways that were seen last share the floor of each class that people wait
// for, in the smallest of the lanes.
func (b *backend) keepSoft(ctx context.Context, t *gemini.Transport) {
	for {
		if seen, err := gemini.MeterProcesses(ctx, b.rdb, b.conf.scope()); err == nil {
			t.SetSoft(soft(b.enforced(ctx), livingGateways(seen, time.Now())))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
		}
	}
}

// livingGateways counts this one too, which may not have been heard of yet.
func livingGateways(seen []gemini.MeterProcess, now time.Time) int64 {
	var n int64
	for _, p := range seen {
		if strings.HasPrefix(p.Name, "gateway:") && now.Sub(p.Last) < 15*time.Second {
			n++
		}
	}
	return max(n, 1)
}

// enforced is what the fleet enforces, with what was set over the configuration;
// this process's own where that cannot be asked.
func (b *backend) enforced(ctx context.Context) limiter.Config {
	c, err := b.lim.Effective(ctx)
	if err != nil || len(c.Lanes) == 0 {
		return b.conf.limiterConfig()
	}
	return c
}

func soft(c limiter.Config, gateways int64) map[string]gemini.SoftAllowance {
	out := map[string]gemini.SoftAllowance{}
	for _, class := range c.Classes {
		if class.Pausable || class.Smooth {
			continue
		}
		least := int64(0)
		for _, l := range c.Lanes {
			rpm := l.Limits.RPM
			if n := rpm * class.IdleFloorPPM(l.Lend) / ppm / gateways; rpm > 0 && (least == 0 || n < least) {
				least = n
			}
		}
		out[class.Name] = gemini.SoftAllowance{PerMinute: least}
	}
	return out
}
