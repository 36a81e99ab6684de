package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nightshift/limiter/gemini"
)

// watched is what a process tells those who watch it: /metrics for Prometheus, and
// /healthz and /readyz for a supervisor, at an address of their own. Without such an
// address it is made all the same and tells nobody.
type watched struct {
	process string
	reg     *prometheus.Registry // nil without an address: nothing is counted
	url     string
	server  *http.Server
	ready   atomic.Pointer[readiness]
	leaving atomic.Bool
}

// readiness says whether a process can do its work, and what else there is to say.
type readiness func(ctx context.Context) (about map[string]any, err error)

// errStarting is what a process says of itself that has not come so far yet.
var errStarting = errors.New("starting")

// watch makes it for a process, at the address that its section or metrics.listen
// gives. It serves until close, so that a drain can be watched to its end.
func (b *backend) watch(process, own string) (*watched, error) {
	w := &watched{process: process}
	addr, key := b.conf.metricsAddr(process, own)
	if addr == "" {
		return w, nil
	}
	l, err := listenFirst(addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	w.reg, w.url = newRegistry(process), "http://"+l.Addr().String()+"/metrics"
	w.server = &http.Server{Handler: w.handler(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	go func() { _ = w.server.Serve(l) }()
	b.log.Info("metrics are served", "process", process, "url", w.url)
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		b.log.Info("metrics can be read from other machines, without a login: names of models and features, and money, are in them", "listen", a.String())
	}
	return w, nil
}

func (w *watched) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 20 * time.Second}))
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) {
		answerJSON(rw, http.StatusOK, map[string]any{"status": "up"})
	})
	mux.HandleFunc("GET /readyz", w.serveReady)
	return mux
}

// serveReady answers 503 while the process starts, while it drains, and while it
// cannot do its work.
func (w *watched) serveReady(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	about, err := map[string]any{}, errStarting
	if f := w.ready.Load(); f != nil {
		about, err = (*f)(ctx)
	}
	if w.leaving.Load() {
		err = errors.Join(errors.New("draining"), err)
	}
	if about == nil {
		about = map[string]any{}
	}
	status := http.StatusOK
	about["process"], about["ready"] = w.process, err == nil
	if err != nil {
		status, about["why"] = http.StatusServiceUnavailable, gemini.Redact(firstLine(err.Error()))
	}
	answerJSON(rw, status, about)
}

// readyWhen says what /readyz asks from now on.
func (w *watched) readyWhen(f readiness) { w.ready.Store(&f) }

// leaveWith tells /readyz of the drain as soon as the context ends.
func (w *watched) leaveWith(ctx context.Context) {
	context.AfterFunc(ctx, func() { w.leaving.Store(true) })
}

// metrics counts a process's calls; nil where nobody asks for them.
func (w *watched) metrics() *gemini.Metrics {
	if w.reg == nil {
		return nil
	}
	return gemini.NewMetrics(w.reg)
}

// collect adds what is read when Prometheus asks.
func (w *watched) collect(c prometheus.Collector) {
	if w.reg != nil {
		w.reg.MustRegister(c)
	}
}

func (w *watched) close() {
	if w.server != nil {
		_ = w.server.Close()
	}
}

// newRegistry has what every Go process tells, and which version of which process
// it is.
func newRegistry(process string) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "nightshift", Name: "build_info", Help: "Always 1; which process of which version this is.",
		ConstLabels: prometheus.Labels{"process": process, "version": version()},
	})
	info.Set(1)
	reg.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked may have gone
}
