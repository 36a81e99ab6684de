package tracing

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config says where spans go. What OpenTelemetry's own variables say of the resource,
// of headers and of TLS holds as well.
type Config struct {
	URL      string  // the whole address, /v1/traces included; a login may stand in it
	Service  string  // service.name where OTEL_SERVICE_NAME is not set
	Instance string  // service.instance.id
	Project  string  // the provider's project: traces of rows are told apart by it
	Ratio    float64 // of traces that are told; 0 means all
	Logger   *slog.Logger
}

const (
	mostQueued = 8192 // spans that wait; more are left out: tracing holds no call up
	mostAtOnce = 512
	flushEvery = 2 * time.Second
	sendTime   = 10 * time.Second
)

// New starts a tracer, which has one goroutine. Close ends it.
func New(c Config) (*Tracer, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ratio <= 0 {
		c.Ratio = 1
	}
	ctx := context.Background()
	to, err := endpoint(c.URL)
	if err != nil {
		return nil, err
	}
	// A batch that is refused is lost: spans are worth no memory of a process that makes calls.
	out, err := otlptracehttp.New(ctx, append(to, otlptracehttp.WithTimeout(sendTime), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", c.Service), attribute.String("service.instance.id", c.Instance)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Logger.Warn("traces", "err", err) })) // else to the standard log
	e := &exporter{SpanExporter: out, log: c.Logger}
	p := sdk.NewTracerProvider(sdk.WithResource(of), sdk.WithIDGenerator(givenIDs{}), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithBatcher(e, sdk.WithMaxQueueSize(mostQueued), sdk.WithMaxExportBatchSize(mostAtOnce), sdk.WithBatchTimeout(flushEvery), sdk.WithExportTimeout(sendTime)))
	return &Tracer{project: c.Project, ratio: c.Ratio, provider: p, out: p.Tracer("nightshift"), exporter: e}, nil
}

// endpoint are the exporter's options of an address.
func endpoint(address string) ([]otlptracehttp.Option, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("traces: the collector's address is no URL") // which may hold a password
	}
	var opts []otlptracehttp.Option
	if user := u.User; user != nil {
		pw, _ := user.Password()
		opts = append(opts, otlptracehttp.WithHeaders(map[string]string{
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+pw)),
		}))
		u.User = nil
	}
	return append(opts, otlptracehttp.WithEndpointURL(u.String())), nil
}

// Close sends what is left, for at most ten seconds.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what was lost is in the log
}

// exporter says what became of spans that the collector does not take.
type exporter struct {
	sdk.SpanExporter
	log  *slog.Logger
	away atomic.Bool // the last batch was lost
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if e.away.Store(err != nil); err != nil {
		e.log.Warn("the collector takes no spans; they are lost", "spans", len(spans), "err", err)
	}
	return nil
}

// given is the context's key of the ids that a span is to have.
type given struct{}

// givenIDs are those that follow from what a span is of.
type givenIDs struct{}

func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(given{}).(trace.SpanContext)
	return c.TraceID(), c.SpanID()
}

func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}
