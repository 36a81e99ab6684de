package worker

import (
	"github.com/prometheus/client_golang/prometheus"

	"nightshift/jobs"
)

// Collector counts a worker's rows for Prometheus, when it is asked. What was begun
// and how it went on are counters of their own: rows started less rows ended, put
// back and retried are those in hand, over any window.
type Collector struct {
	worker                                     *Worker
	started, ended, back, retried, spooled     *prometheus.Desc
	inFlight, slots, lanes, draining, troubled *prometheus.Desc
}

// NewCollector is of one worker. Its names begin with nightshift_worker_.
func NewCollector(w *Worker) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("nightshift_worker_"+name, help, labels, nil)
	}
	return &Collector{
		worker:   w,
		started:  desc("rows_started_total", "Looks at rows that this process began."),
		ended:    desc("rows_ended_total", "Rows that this process ended, by what they ended as.", "state"),
		back:     desc("rows_put_back_total", "Looks after which the row waits, without blame, by what it waits for.", "cause"),
		retried:  desc("rows_retried_total", "Looks that failed and will be tried again."),
		spooled:  desc("results_spooled_total", "Results that Redis refused, kept on this machine until it takes them."),
		inFlight: desc("calls_in_flight", "Calls that hold a slot now."),
		slots:    desc("slots", "Calls that this process can make at once, over its lanes."),
		lanes:    desc("lanes", "Lanes that this process serves."),
		draining: desc("draining", "1 while the process ends: it takes no rows, its calls in flight end."),
		troubled: desc("lanes_without_way", "Lanes whose provider this process cannot reach."),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType) func(*prometheus.Desc, int64, ...string) {
		return func(d *prometheus.Desc, n int64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, float64(n), labels...)
		}
	}
	count, gauge := send(prometheus.CounterValue), send(prometheus.GaugeValue)
	sums := &c.worker.stats
	count(c.started, sums.started.Load())
	for s := jobs.None + 1; s < jobs.NumStates; s++ {
		if s.Terminal() {
			count(c.ended, sums.ends[s].Load(), s.String())
		}
	}
	for cause, name := range jobs.WaitCauses() {
		count(c.back, sums.back[cause].Load(), name)
	}
	count(c.retried, sums.retries.Load())
	count(c.spooled, sums.spooled.Load())
	c.now(gauge)
}

// now tells what the process does at this moment.
func (c *Collector) now(gauge func(*prometheus.Desc, int64, ...string)) {
	info := c.worker.Info()
	var busy, slots, troubled, draining int64
	for _, l := range info.Lanes {
		busy, slots = busy+int64(l.Busy), slots+int64(l.Slots)
		if l.Trouble != nil {
			troubled++
		}
	}
	if info.Draining {
		draining = 1
	}
	gauge(c.inFlight, busy)
	gauge(c.slots, slots)
	gauge(c.lanes, int64(len(info.Lanes)))
	gauge(c.draining, draining)
	gauge(c.troubled, troubled)
}
