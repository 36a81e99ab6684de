package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"nightshift/cmd/internal/tracing"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// outlet is a process's one way to Gemini, with what it keeps of each call.
type outlet struct {
	transport *gemini.Transport
	lanes     *gemini.LaneMap
	routes    *gemini.Routes
	records   *gemini.Recorder
	meter     *gemini.Meter
	ramps     *gemini.Meter // counts what ramps decide
	learning  *gemini.Learning
	kept      gemini.Records  // all of these
	traces    *tracing.Tracer // nil: nobody wants them
	unwatch   context.CancelFunc
	history   chan struct{} // closed when the historian has ended
}

// newOutlet opens it; process names who counts ("worker", "gateway"). One that
// observes refuses nothing; metrics may be nil.
func (b *backend) newOutlet(process string, observe bool, metrics *gemini.Metrics) (*outlet, error) {
	base, key, err := b.conf.provider()
	if err != nil {
		return nil, err
	}
	vertex, err := b.conf.vertex()
	if err != nil {
		return nil, err
	}
	lanes, err := b.conf.laneMap()
	if err != nil {
		return nil, err
	}
	degrade, err := b.degrader(process, lanes)
	if err != nil {
		return nil, err
	}
	routes, err := b.liveRoutes(lanes)
	if err != nil {
		return nil, err
	}
	records, err := gemini.NewRecorder(b.conf.recordsDir(), b.conf.Records.Keep)
	if err != nil {
		return nil, err
	}
	o := &outlet{lanes: lanes, routes: routes, records: records}
	o.meter = gemini.NewMeter(b.rdb, b.conf.scope(), gemini.MeterOptions{Process: processName(process), Zone: b.conf.spendZone(), Logger: b.log})
	b.waits.meter.Store(o.meter)
	o.learning = gemini.NewLearning(b.rdb, b.conf.scope(), gemini.LearningOptions{Logger: b.log})
	o.ramps = gemini.NewRampMeter(b.rdb, b.conf.scope(), gemini.MeterOptions{Process: processName(process), Logger: b.log})
	o.traces = b.tracer(process)
	o.kept = gemini.Fan(records, o.meter, o.ramps, ofCalls(o.traces))
	prices := b.conf.prices()
	o.transport, err = gemini.NewTransport(gemini.TransportConfig{
		Base: base, BaseURL: b.conf.apiURL(), Vertex: vertex, Metrics: metrics, APIKey: key, Key: b.conf.keyNow(key, b.log), KeyFrom: b.conf.keyFrom(),
		Process: processName(process), Gate: b.lim, Lanes: lanes, Routes: routes, Unexplained: gemini.NewUnexplainedStore(b.rdb, b.conf.scope()),
		Estimator: &gemini.Estimator{Prices: prices, Learning: o.learning, Quantiles: b.conf.quantiles()}, Prices: prices, RefuseUnpriced: b.conf.refuseUnpriced(),
		Observe: observe, Records: o.kept, Degrade: degrade, MaxWait: b.conf.maxWaits(process), MaxStream: b.conf.maxStreams(), Logger: b.log,
	})
	if err != nil {
		o.close(b.log)
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.unwatch = cancel
	go o.transport.WatchKey(ctx)
	o.keepHistory(ctx, b)
	if process == "gateway" { // rows are not moved
		_ = routes.Refresh(ctx) // Watch tells what is wrong, and tries again
		go routes.Watch(ctx)
	}
	return o, nil
}

// keepHistory makes the history of use, as long as no other process does.
func (o *outlet) keepHistory(ctx context.Context, b *backend) {
	h := gemini.NewHistorian(b.rdb, b.conf.scope(), gemini.HistorianOptions{Lanes: b.lim, Logger: b.log})
	o.history = make(chan struct{})
	go func() {
		defer close(o.history)
		h.Run(ctx)
	}()
}

// processName tells processes of a kind apart: worker:host:pid.
func processName(kind string) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%s:%d", kind, host, os.Getpid())
}

// close writes the last call records and counts down, and hands over what was
// learned last.
func (o *outlet) close(log *slog.Logger) {
	if o.unwatch != nil {
		o.unwatch()
		<-o.history
	}
	o.learning.Close()
	if o.traces != nil {
		o.traces.Close()
	}
	if err := firstError(o.records.Close(), o.meter.Close(), o.ramps.Close()); err != nil {
		log.Warn("the last call records could not be written", "err", err)
	}
}

// provider gives the way out and the key: the real API, or the simulated one in
// this process, which needs no key.
func (l *loaded) provider() (http.RoundTripper, string, error) {
	if l.Gemini.API == "simulated" {
		sim, err := geminitest.New(l.simulation())
		return sim, "simulated", err
	}
	if l.vertexByToken() {
		return nil, "", nil
	}
	key, err := l.apiKey()
	return nil, key, err
}

// simulation is a simulated project with the limits that are configured, so
// that a 429 of it means what a 429 of the real one would mean.
func (l *loaded) simulation() geminitest.Config {
	c := geminitest.Config{
		Strict:  true,
		Latency: geminitest.Latency{Base: 300 * time.Millisecond, PerToken: 6 * time.Millisecond, Sigma: 0.3},
	}
	for name, m := range l.Models {
		for _, n := range append([]string{name}, m.Aliases...) {
			c.Models = append(c.Models, geminitest.Model{
				Name: n, Bucket: name, ContextTokens: m.ContextTokens, Embeds: strings.Contains(n, "embedding"),
				Limits: geminitest.Limits{RPM: m.RPM, InputTPM: m.InputTPM, RPD: m.RPD, Concurrency: m.Concurrency},
			})
		}
	}
	return c
}

// callerWait is how long a call of a class whose jobs stand in line waits at the
// gateway, where it has no row that could come back by itself.
const callerWait = 30 * time.Second

// maxWaits is how long each class waits in place for a permit in a kind of process.
func (l *loaded) maxWaits(process string) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, c := range l.classTable() {
		out[c.Name] = c.MaxWait
		if c.Tickets && process == "gateway" {
			out[c.Name] = cmp.Or(c.MaxWait, callerWait)
		}
	}
	return out
}

// maxStreams is how long a stream of a class may last, where the configuration says.
func (l *loaded) maxStreams() map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, c := range l.Classes {
		if c.MaxStream != nil {
			out[name] = *c.MaxStream
		}
	}
	return out
}
