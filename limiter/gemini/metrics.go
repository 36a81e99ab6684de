package gemini

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"nightshift/limiter"
)

// Metrics counts calls for Prometheus: TransportConfig.Metrics. All labels are from
// closed sets: models are the configured ones, classes the first sixteen, and what
// else a caller names is "other". What was begun and what was ended are counters of
// their own, so that rate(granted) − rate(settled) − rate(released) holds over any
// window; the three of one fleet sum over its processes. Nothing here is read back.
//
// Several transports may share one Metrics. Those of two provider projects want one
// each, over prometheus.WrapRegistererWith(prometheus.Labels{"project": …}, reg).
// It is safe for concurrent use; a nil one counts nothing.
type Metrics struct {
	calls    *prometheus.CounterVec // by class, model, decision
	refusals *prometheus.CounterVec // by class, model, reason
	answers  *prometheus.CounterVec // by model, status
	degraded *prometheus.CounterVec // by class, kind, reason
	granted  *prometheus.CounterVec // by class, model; so are the next two
	settled  *prometheus.CounterVec
	released *prometheus.CounterVec
	charged  *prometheus.CounterVec // by class, model, kind; so is the next
	refunded *prometheus.CounterVec
	cost     *prometheus.CounterVec // by class, model
	guessed  *prometheus.CounterVec // by model, kind; so is the next
	measured *prometheus.CounterVec
	unknown  *prometheus.CounterVec   // by model, status
	waited   *prometheus.HistogramVec // by class
	latency  *prometheus.HistogramVec // by class, model; so is the next
	first    *prometheus.HistogramVec
	models   *labelSet
	classes  *labelSet
}

// NewMetrics registers the metrics of calls, all named nightshift_gemini_…; with a
// nil registry they are counted and shown nowhere. Registering twice with one
// registry is a mistake of the program and panics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := metricsFactory{promauto.With(reg)}
	byModel := []string{"class", "model"}
	return &Metrics{
		calls:    f.counter("calls_total", "Calls by what was decided about them.", "class", "model", "decision"),
		refusals: f.counter("refusals_total", "Calls that the limiter refused, by its rule.", "class", "model", "reason"),
		answers:  f.counter("answers_total", "Calls that went out, by the provider's HTTP status; none: no answer came.", "model", "status"),
		degraded: f.counter("degraded_total", "Calls answered otherwise than by their model, by what with and why.", "class", "kind", "reason"),
		granted:  f.counter("permits_granted_total", "Permits given.", byModel...),
		settled:  f.counter("permits_settled_total", "Permits that ended with a call.", byModel...),
		released: f.counter("permits_released_total", "Permits given back without a call.", byModel...),
		charged:  f.counter("tokens_charged_total", "Tokens charged, by estimate and where a call took more.", "class", "model", "kind"),
		refunded: f.counter("tokens_refunded_total", "Tokens given back of what was charged.", "class", "model", "kind"),
		cost:     f.counter("cost_micro_usd_total", "What calls cost by the price book, in millionths of a US dollar.", byModel...),
		guessed:  f.counter("tokens_estimated_total", "Tokens that were charged before calls whose use is known now: tokens_measured_total of them.", "model", "kind"),
		measured: f.counter("tokens_measured_total", "Tokens that the provider counted, of the calls of tokens_estimated_total.", "model", "kind"),
		unknown:  f.counter("unexplained_total", "Answers that are no success and that nobody can explain.", "model", "status"),
		waited:   f.histogram("wait_seconds", "Time that calls waited for their permit, refused ones too.", waitBuckets, "class"),
		latency:  f.histogram("latency_seconds", "Time from sending to the last byte of good answers.", latencyBuckets, byModel...),
		first:    f.histogram("first_token_seconds", "Time from sending to the first token of streams.", latencyBuckets, byModel...),
		models:   newLabelSet(), classes: newLabelSet(),
	}
}

// The bounds hold what the classes wait at most by default (300 ms, 5 s, 3 min), and
// the latencies from a short answer's to the provider's own deadline of ten minutes.
var (
	waitBuckets    = []float64{0.001, 0.01, 0.05, 0.1, 0.3, 1, 2, 5, 15, 60, 180}
	latencyBuckets = []float64{0.1, 0.25, 0.5, 1, 2, 3.5, 5, 10, 20, 40, 60, 120, 300, 600}
)

type metricsFactory struct{ promauto.Factory }

func (f metricsFactory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Namespace: "nightshift", Subsystem: "gemini", Name: name, Help: help}, labels)
}

func (f metricsFactory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: "nightshift", Subsystem: "gemini", Name: name, Help: help, Buckets: buckets}, labels)
}

// grant counts a permit that was given.
func (m *Metrics) grant(p *limiter.Permit) {
	if m == nil {
		return
	}
	class, model := m.classes.first(p.Class), m.models.known(p.Lane.Model)
	m.granted.WithLabelValues(class, model).Inc()
	m.move(class, model, limiter.Amounts{}, p.Amounts)
}

// settle counts a permit's end. What it was charged before is in it.
func (m *Metrics) settle(p *limiter.Permit, outcome limiter.Outcome, used limiter.Amounts) {
	if m == nil {
		return
	}
	class, model, end := m.classes.first(p.Class), m.models.known(p.Lane.Model), m.settled
	if outcome == limiter.Released {
		end, used = m.released, limiter.Amounts{}
	}
	end.WithLabelValues(class, model).Inc()
	m.move(class, model, p.Amounts, used)
}

// raise counts what a permit that stays open is charged more.
func (m *Metrics) raise(p *limiter.Permit, to limiter.Amounts) {
	if m != nil {
		m.move(m.classes.first(p.Class), m.models.known(p.Lane.Model), p.Amounts, to)
	}
}

// move counts how a charge changes.
func (m *Metrics) move(class, model string, from, to limiter.Amounts) {
	for _, kind := range [...]struct {
		name string
		unit limiter.Unit
	}{{"input", limiter.InputTokens}, {"output", limiter.OutputTokens}} {
		switch more := to[kind.unit] - from[kind.unit]; {
		case more > 0:
			m.charged.WithLabelValues(class, model, kind.name).Add(float64(more))
		case more < 0:
			m.refunded.WithLabelValues(class, model, kind.name).Add(float64(-more))
		}
	}
}
