package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
)

// newRegistry has what every Go process tells.
func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// meterGateway makes the gateway's metrics and serves them at an address of their own
// until the context ends: they are for operators, and the gateway's address is for
// callers. Without gateway.metrics there are none.
func (b *backend) meterGateway(ctx context.Context) (*gemini.Metrics, error) {
	if b.conf.Gateway.Metrics == "" {
		return nil, nil
	}
	l, err := gateway.Listen(b.conf.Gateway.Metrics)
	if err != nil {
		return nil, fmt.Errorf("gateway.metrics: %w", err)
	}
	reg := newRegistry()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	b.log.Info("metrics are served", "url", "http://"+l.Addr().String()+"/metrics")
	return gemini.NewMetrics(reg), nil
}
