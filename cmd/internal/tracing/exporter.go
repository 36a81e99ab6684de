package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config says where spans go. URL is the whole address, /v1/traces included.
type Config struct {
	URL      string
	Headers  map[string]string // of each request: a login
	Service  string            // service.name
	Instance string            // service.instance.id
	Resource map[string]string // more of the resource
	Project  string            // the provider's project: traces of rows are told apart by it
	Ratio    float64           // of traces that are told; 0 means all
	Logger   *slog.Logger
	Client   *http.Client // nil: one of its own
}

const (
	mostQueued = 8192 // spans that wait; more are left out: tracing holds no call up
	mostAtOnce = 512
	flushEvery = 2 * time.Second
	sendTime   = 10 * time.Second
)

// exporter sends spans in the background.
type exporter struct {
	cfg     Config
	spans   chan span
	dropped atomic.Int64
	done    chan struct{}
	end     sync.Once
	quit    chan struct{}
}

// New starts a tracer. Close ends it.
func New(c Config) *Tracer {
	if c.Client == nil {
		c.Client = &http.Client{Timeout: sendTime}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ratio <= 0 {
		c.Ratio = 1
	}
	e := &exporter{cfg: c, spans: make(chan span, mostQueued), done: make(chan struct{}), quit: make(chan struct{})}
	go e.run()
	return &Tracer{project: c.Project, ratio: c.Ratio, out: e}
}

// Close sends what is left, for at most ten seconds.
func (t *Tracer) Close() {
	t.out.end.Do(func() { close(t.out.quit) })
	<-t.out.done
}

// put never waits.
func (e *exporter) put(spans ...span) {
	for _, s := range spans {
		select {
		case e.spans <- s:
		default:
			e.dropped.Add(1)
		}
	}
}

func (e *exporter) run() {
	defer close(e.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var batch []span
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) < mostAtOnce {
				continue
			}
		case <-tick.C:
		case <-e.quit:
			e.last(batch)
			return
		}
		e.send(context.Background(), batch)
		batch = batch[:0]
	}
}

// last sends what is queued.
func (e *exporter) last(batch []span) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) >= mostAtOnce {
				e.send(ctx, batch)
				batch = batch[:0]
			}
		default:
			e.send(ctx, batch)
			return
		}
	}
}

// send gives a batch to the collector. One that is refused is lost: spans are worth
// no memory of a process that makes calls.
func (e *exporter) send(ctx context.Context, batch []span) {
	if n := e.dropped.Swap(0); n > 0 {
		e.cfg.Logger.Warn("spans are left out: more come than the collector takes", "spans", n, "remedy", "telemetry.sample")
	}
	if len(batch) == 0 {
		return
	}
	if err := e.post(ctx, batch); err != nil {
		e.cfg.Logger.Warn("the collector takes no spans; they are lost", "spans", len(batch), "err", err)
	}
}

func (e *exporter) post(ctx context.Context, batch []span) error {
	body, err := json.Marshal(e.request(batch))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, v := range e.cfg.Headers {
		req.Header.Set(name, v)
	}
	resp, err := e.cfg.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection serves again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// request is OTLP's ExportTraceServiceRequest.
func (e *exporter) request(batch []span) any {
	var a attrs
	a.text("service.name", e.cfg.Service)
	a.text("service.instance.id", e.cfg.Instance)
	for k, v := range e.cfg.Resource {
		a.text(k, v)
	}
	type m = map[string]any
	return m{"resourceSpans": []m{{
		"resource":   m{"attributes": a},
		"scopeSpans": []m{{"scope": m{"name": "nightshift"}, "spans": batch}},
	}}}
}
