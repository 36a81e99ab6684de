package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"nightshift/cmd/internal/tracing"
	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// TelemetryConfig says where traces go: an OpenTelemetry collector's address for HTTP,
// such as http://127.0.0.1:4318. OpenTelemetry's own variables serve as well.
type TelemetryConfig struct {
	Endpoint string   `yaml:"otlp_endpoint"` // default OTEL_EXPORTER_OTLP_ENDPOINT; neither: nothing is traced
	Sample   *float64 `yaml:"sample"`        // part of all traces that is told, 0 to 1. Default OTEL_TRACES_SAMPLER_ARG, or 1
}

func (c TelemetryConfig) check() error {
	if u, err := url.Parse(c.Endpoint); c.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("telemetry.otlp_endpoint: %q; want a URL such as http://127.0.0.1:4318", gemini.Redact(c.Endpoint))
	}
	if c.Sample != nil && (*c.Sample < 0 || *c.Sample > 1) {
		return fmt.Errorf("telemetry.sample: %v; want 0 to 1", *c.Sample)
	}
	return nil
}

// url is where spans are sent; "" for nowhere.
func (c TelemetryConfig) url(env func(string) string) string {
	if whole := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); c.Endpoint == "" && whole != "" {
		return whole
	}
	base := cmp.Or(c.Endpoint, env("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if base == "" || env("OTEL_SDK_DISABLED") == "true" {
		return ""
	}
	return strings.TrimRight(base, "/") + "/v1/traces"
}

func (c TelemetryConfig) ratio(env func(string) string) float64 {
	if c.Sample != nil {
		return *c.Sample
	}
	if r, err := strconv.ParseFloat(env("OTEL_TRACES_SAMPLER_ARG"), 64); err == nil && r >= 0 && r <= 1 {
		return r
	}
	return 1
}

// tracer tells traces of a process; nil while nobody wants them.
func (b *backend) tracer(process string) *tracing.Tracer {
	conf, env := b.conf.Telemetry, os.Getenv
	to, ratio := conf.url(env), conf.ratio(env)
	if to == "" || ratio == 0 {
		return nil
	}
	t, err := tracing.New(tracing.Config{
		URL: to, Service: "nightshift-" + process, Instance: processName(process), Project: b.conf.Gemini.Project, Ratio: ratio, Logger: b.log,
	})
	if err != nil {
		b.log.Warn("nothing is traced", "err", err)
	}
	return t
}

// ofWorker is a tracer as the worker wants it: nothing at all where there is none.
func ofWorker(t *tracing.Tracer) worker.Tracer {
	if t == nil {
		return nil
	}
	return t
}

// ofCalls is one among those that take records.
func ofCalls(t *tracing.Tracer) gemini.Records {
	if t == nil {
		return nil
	}
	return t
}

// traceEnqueued tells of the rows of a run that is new: of one that is added to,
// nobody knows which rows are.
func (b *backend) traceEnqueued(rep jobs.EnqueueReport, begun time.Time) {
	t := b.tracer("enqueue")
	if t == nil {
		return
	}
	if rep.Known == 0 && rep.Changed == 0 {
		t.Enqueued(rep.Run, rep.New, begun, time.Now())
	}
	t.Close()
}
