package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"nightshift/limiter"
)

// Gate gives permits and takes them back. *limiter.Redis is one. A Gate that is a
// Reporter too hears what answers say about its limits.
type Gate interface {
	Acquire(context.Context, limiter.Request) (*limiter.Permit, error)
	Settle(context.Context, limiter.Settlement) error
}

// Cooler lets a lane rest. *limiter.Redis is one.
type Cooler interface {
	Cool(context.Context, limiter.Lane, time.Duration, limiter.Reason, string) error
}

// Records takes the record of each call. *Recorder is one.
type Records interface{ Put(Record) }

// DefaultBaseURL is where the Gemini API is.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// TransportConfig says what a Transport needs. Gate, Lanes and APIKey must be set.
type TransportConfig struct {
	Base      http.RoundTripper // sends; nil means http.DefaultTransport's settings, with as many idle connections as calls
	BaseURL   string            // the only place that is called, with an optional path prefix; "" means DefaultBaseURL, or Vertex's
	Vertex    *Vertex           // Vertex AI is called; nil means the Gemini API
	APIKey    string            // the one provider key; credentials of the caller are taken off
	Gate      Gate              //
	Cooler    Cooler            // nil means Gate, when it is one; else lanes are not cooled
	Lanes     *LaneMap          // model → lane
	Routes    *Routes           // aliases and ramps; nil sends each call to the model that it names
	Estimator *Estimator        // nil means one without learning and without prices of its own
	Prices    *PriceBook        // nil means the embedded book
	// RefuseUnpriced names the classes, those that can wait, whose calls to a model
	// without a known price are refused where a limit in money binds them. Others
	// are charged as the dearest. It needs a Gate that is an Effective.
	RefuseUnpriced map[string]bool
	// Key gives the key as it is now, where it may be replaced while the process runs;
	// nil means APIKey.
	Key       func() string
	KeyFrom   string                   // where the key comes from, for people: "the environment variable GEMINI_API_KEY"; never the key
	Process   string                   // names this process in what it reports: "worker:host:pid"
	Records   Records                  // nil keeps none
	Degrade   Degrader                 // finds other answers for calls that get none; nil: refusals are errors. With Observe it is not asked
	MaxWait   map[string]time.Duration // per class: how long a call waits in place for its permit; absent: not at all
	MaxStream map[string]time.Duration // per class: how long a stream may last; absent: DefaultMaxStream
	Observe   bool                     // refuse nothing: every call is counted and goes out, Observation.Over says what would have refused it
	Soft      map[string]SoftAllowance // per class: what may pass while the shared state is away; absent: nothing does (bulk never should)
	Bounds    Bounds                   //
	Logger    *slog.Logger             // nil means none
	Now       func() time.Time         // of records and prices; nil means time.Now
	// Unexplained takes the answers that nobody can explain; nil keeps none.
	Unexplained Unexplained
	Metrics     *Metrics // counts for Prometheus (NewMetrics); nil counts nothing
}

// Bounds are the transport's own limits. Zero fields take the defaults.
type Bounds struct {
	Body         int64         // largest request body in bytes; default 21 MB (the API takes 20 MB inline: https://ai.google.dev/gemini-api/docs/files)
	Answer       int64         // largest unary answer in bytes; default 256 MB
	LeastTime    time.Duration // with less than this left no call is made; default 10 s, under which Gemini refuses x-server-timeout
	Settle       time.Duration // how long a settlement may take; default 5 s
	CountPerMin  int           // countTokens calls a minute; default 300
	Away         time.Duration // how long a call that may pass without a permit waits for the shared state; default 1 s
	LeaseReserve time.Duration // how much longer than the caller's deadline a permit holds; default 30 s
}

func (b Bounds) filled() Bounds {
	return Bounds{
		Body:         cmp.Or(b.Body, 21<<20),
		Answer:       cmp.Or(b.Answer, 256<<20),
		LeastTime:    cmp.Or(b.LeastTime, 10*time.Second),
		Settle:       cmp.Or(b.Settle, 5*time.Second),
		CountPerMin:  cmp.Or(b.CountPerMin, 300),
		Away:         cmp.Or(b.Away, time.Second),
		LeaseReserve: cmp.Or(b.LeaseReserve, 30*time.Second),
	}
}

// Transport is the one way to Gemini: one HTTP request, one permit. It is safe
// for concurrent use.
type Transport struct {
	cfg    TransportConfig
	base   *url.URL
	cooler Cooler
	// reporter is nil when nobody wants to know what answers say about limits.
	reporter Reporter
	counts   *countGate
	sharing  sync.Map // pairs of lanes that are known to share a quota
	soft     softGates
	change   change
	doubts   doubts
	limits   limitsKnown
	odd      tally // counts of tokens that do not add up
	keys     keyUse
	holding  heldBack
	away     away
	log      *slog.Logger
	late     lateSettlements
	degraded degradeLog
}

// NewTransport checks the configuration; an error names the field.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	if err := cfg.Vertex.check(); err != nil {
		return nil, err
	}
	base, err := baseOf(cmp.Or(cfg.BaseURL, cfg.Vertex.BaseURL()))
	switch {
	case err != nil:
		return nil, fmt.Errorf("BaseURL: %w", err)
	case cfg.Gate == nil:
		return nil, errors.New("Gate: must be set")
	case cfg.Lanes == nil:
		return nil, errors.New("Lanes: must be set")
	case cfg.APIKey == "" && cfg.Key == nil && !cfg.Vertex.byToken():
		return nil, errors.New("APIKey: must be set")
	}
	t := &Transport{cfg: cfg, base: base, cooler: cfg.Cooler, log: cfg.Logger}
	t.fill()
	return t, nil
}

// newBase keeps every connection for the next call. All calls go to one host, and
// http.DefaultTransport would close all but two of its idle ones.
func newBase() http.RoundTripper {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns, base.MaxIdleConnsPerHost = 0, 1<<20
	return base
}

func (t *Transport) fill() {
	if t.cfg.Base == nil {
		t.cfg.Base = newBase()
	}
	if t.cfg.Now == nil {
		t.cfg.Now = time.Now
	}
	if t.cfg.Prices == nil {
		t.cfg.Prices = EmbeddedPrices()
	}
	if t.cfg.Estimator == nil {
		t.cfg.Estimator = &Estimator{Prices: t.cfg.Prices, Now: t.cfg.Now}
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.cooler == nil {
		t.cooler, _ = t.cfg.Gate.(Cooler)
	}
	t.reporter, _ = t.cfg.Gate.(Reporter)
	if t.cfg.Vertex.byToken() {
		t.cfg.Key = t.cfg.Vertex.keyName
	}
	if t.cfg.Key == nil {
		t.cfg.Key = func() string { return t.cfg.APIKey }
	}
	t.cfg.Bounds = t.cfg.Bounds.filled()
	t.counts = newCountGate(t.cfg.Bounds.CountPerMin)
	t.soft.set(t.cfg.Soft)
	t.cfg.Metrics.know(t.cfg.Lanes)
	t.late.gate, t.late.log, t.late.wait = t.cfg.Gate, t.log, t.cfg.Bounds.Settle
}

// RoundTrip governs one request. What the provider answers is passed on as it
// is, its meaning is in the context's Observation. A local refusal is a
// *limiter.Denied as error; a request that is not one for Gemini a
// *RefusedError. A unary answer has been read when it returns.
//
// With a Degrader another answer may take the place of a refusal, the limiter's
// or the provider's: it has HeaderDegraded, and Observation.Degraded says why.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := t.newCall(req)
	defer c.recoverPanic()
	resp, err := c.roundTrip(req)
	if other := c.instead(req, err); other != nil {
		resp, err = other, nil
	}
	c.recordNow()
	return resp, err
}

func (c *call) roundTrip(req *http.Request) (*http.Response, error) {
	if err := c.prepare(req); err != nil {
		return nil, c.refused(err)
	}
	if err := c.admit(); err != nil {
		return nil, c.refused(err)
	}
	if resp := c.spare(req); resp != nil {
		return resp, nil
	}
	c.bound()
	resp, err := c.send(req)
	if err != nil {
		return nil, c.lost(err)
	}
	return c.answered(resp)
}
