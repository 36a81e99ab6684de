package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"text/template"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

const (
	demoModel = "gemini-3.5-flash-lite"
	demoRPM   = 250
	demoRows  = 220
)

type demoOptions struct {
	*factory
	Seed uint64
	Stay bool
}

func newDemoCmd(f *factory) *cobra.Command {
	o := &demoOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See a night and a morning in a minute or so, with nothing installed and nothing called",
		Long: "Runs everything in this process: an embedded Redis, a simulated Gemini with 250 requests a minute, a bulk run,\n" +
			"workers, gateway, scheduler and dashboard, and people who begin to ask in the morning. Beside it the same people\n" +
			"and the same rows go straight to a second simulated Gemini, with the SDK's exponential retry. It ends with what\n" +
			"was measured of both.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), o) },
	}
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "another seed makes other arrivals and latencies")
	cmd.Flags().BoolVar(&o.Stay, "stay", false, "keep the dashboard open at the end, until Ctrl-C")
	return cmd
}

func runDemo(ctx context.Context, o *demoOptions) error {
	dir, err := os.MkdirTemp("", "nightshift-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is the system's to clean
	gated, err := startDemoAPI(ctx, o.Seed)
	if err != nil {
		return err
	}
	direct, err := startDemoAPI(ctx, o.Seed)
	if err != nil {
		return err
	}
	b, stop, err := o.backend(ctx, dir, gated.url)
	if err != nil {
		return err
	}
	defer stop()
	stage, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	defer stage.close()
	o.say("Everything runs in this process, on a simulated Gemini with %d requests a minute; nothing is called or charged.", demoRPM)
	o.say("Dashboard: http://%s/   (asynqmon at /queues)\n", stage.dashboard)
	result, err := o.play(ctx, b, stage, gated, direct)
	if err != nil {
		return err
	}
	result.print(o)
	if o.Stay {
		o.say("\nThe dashboard stays at http://%s/ until Ctrl-C.", stage.dashboard)
		<-ctx.Done()
	}
	return nil
}

// backend is an embedded Redis with the demo's configuration.
func (o *demoOptions) backend(ctx context.Context, dir, api string) (*backend, func(), error) {
	t, err := template.ParseFS(scaffold, "scaffold/demo.yaml.tmpl")
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, map[string]any{"Dir": dir, "API": api, "Model": demoModel, "RPM": demoRPM}); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, configName)
	if err := firstError(os.WriteFile(path, text.Bytes(), 0o600), os.WriteFile(filepath.Join(dir, "key"), []byte("demo-key-of-nobody"), 0o600)); err != nil {
		return nil, nil, err
	}
	conf, err := loadConfig(path, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := startEmbedded(conf.stateDir())
	if err != nil {
		return nil, nil, err
	}
	b := o.factory.backend(conf, redis.NewClient(e.options()))
	stop := func() { b.close(); e.close() }
	if err := b.configure(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return b, stop, nil
}

// stage is what a fleet has as processes, in this one.
type stage struct {
	key       string // of the chat
	gateway   string // addresses
	dashboard string
	stop      context.CancelFunc
	all       sync.WaitGroup
}

func (b *backend) openStage(ctx context.Context) (*stage, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &stage{stop: stop}
	var err error
	if s.key, err = b.demoKey(ctx); err != nil {
		stop()
		return nil, err
	}
	gw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return nil, err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return nil, err
	}
	e, err := b.newEngine(ctx, nil, nil, jobs.Run{})
	if err != nil {
		stop()
		return nil, err
	}
	s.gateway, s.dashboard = gw.Addr().String(), web.Addr().String()
	s.all.Go(func() { b.warnOf("gateway", b.serveGateway(ctx, gw)) })
	s.all.Go(func() { b.warnOf("dashboard", b.serveDashboard(ctx, web)) })
	s.all.Go(func() { b.warnOf("scheduler", b.newScheduler().Run(ctx)) })
	s.all.Go(func() { defer e.close(b.log); b.warnOf("worker", e.worker.Run(ctx)) })
	return s, nil
}

func (b *backend) warnOf(part string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		b.log.Warn(part+" has ended", "err", err)
	}
}

func (s *stage) close() {
	s.stop()
	s.all.Wait()
}

// demoPrompts are the rows as they reach the provider, for the arm without a queue.
func demoPrompts() []string {
	out := make([]string, demoRows)
	for i := range out {
		out[i] = fmt.Sprintf("id: p%03d\nThree tags for product %d, a lamp of brass and glass.", i, i)
	}
	return out
}

// enqueueDemo puts the same rows on the queue as a run.
func (b *backend) enqueueDemo(ctx context.Context, dir string) (jobs.Run, error) {
	var text bytes.Buffer
	text.WriteString("id,product\n")
	for i := range demoRows {
		fmt.Fprintf(&text, "p%03d,%d\n", i, i)
	}
	path := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return jobs.Run{}, err
	}
	quota, err := b.conf.quotaOf(demoModel)
	if err != nil {
		return jobs.Run{}, err
	}
	p, err := jobs.Prepare(ctx, jobs.Input{Path: path}, jobs.Spec{
		Name: "nightly-tags", Kind: jobs.Generate, Model: demoModel, Lane: quota.lane.String(), Feature: b.conf.Run.Feature,
		Template: "id: {{.id}}\nThree tags for product {{.product}}, a lamp of brass and glass.",
		Class:    "bulk", Priority: jobs.Normal, IDColumn: "id", Attempts: b.conf.Worker.Attempts,
	}, jobs.PrepareOptions{})
	if err != nil {
		return jobs.Run{}, err
	}
	defer func() { _ = p.Close() }()
	report, err := b.store.Enqueue(ctx, p, jobs.EnqueueOptions{})
	return report.Run, err
}

// demoSpan is how long people come.
const demoSpan = 60 * time.Second
