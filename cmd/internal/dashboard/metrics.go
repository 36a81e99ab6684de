package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asynqmon's metrics page wants nine series for each queue, in the shape of
// Prometheus's answers to nine fixed queries (metrics_handler.go there). They
// are made here from our own samples, so that no Prometheus is needed.

// matrix is Prometheus's answer to a range query.
type matrix struct {
	Status string     `json:"status"`
	Data   matrixData `json:"data"`
}

type matrixData struct {
	ResultType string `json:"resultType"`
	Result     []line `json:"result"`
}

type line struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"` // Unix seconds, the value as text
}

// graph is one of the nine.
type graph struct {
	name  string
	value func(now, before sample) (float64, bool) // before is up to five minutes earlier, for rates
}

var graphs = []graph{
	{"queue_size", plain(func(s sample) float64 { return float64(s.size) })},
	{"queue_latency_seconds", plain(func(s sample) float64 { return s.latency })},
	{"queue_memory_usage_approx_bytes", plain(func(s sample) float64 { return float64(s.memory) })},
	{"pending_tasks_by_queue", plain(func(s sample) float64 { return float64(s.pending) })},
	{"retry_tasks_by_queue", plain(func(s sample) float64 { return float64(s.retry) })},
	{"archived_tasks_by_queue", plain(func(s sample) float64 { return float64(s.archived) })},
	{"tasks_processed_per_second", func(now, before sample) (float64, bool) {
		return rate(now.processed, before.processed, now.at-before.at)
	}},
	{"tasks_failed_per_second", func(now, before sample) (float64, bool) {
		return rate(now.failed, before.failed, now.at-before.at)
	}},
	{"error_rate", func(now, before sample) (float64, bool) {
		return rate(now.failed, before.failed, 1000*(now.processed-before.processed))
	}},
}

func plain(f func(sample) float64) func(sample, sample) (float64, bool) {
	return func(now, _ sample) (float64, bool) { return f(now), true }
}

// rate is by how much a counter grew each second of ms milliseconds. There is
// none over no time, nor over a counter that was reset.
func rate(now, before, ms int64) (float64, bool) {
	if ms <= 0 || now < before {
		return 0, false
	}
	return float64(now-before) * 1000 / float64(ms), true
}

func (d *Dashboard) serveMetrics(w http.ResponseWriter, r *http.Request) {
	q, err := parseMetricsQuery(r.URL.Query(), d.cfg.Now())
	if err != nil {
		refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	answerJSON(w, http.StatusOK, d.samples.answer(q))
}

// answer gives all graphs of the queues that are asked for; of all when none
// are.
func (s *samples) answer(q metricsQuery) map[string]matrix {
	out := make(map[string]matrix, len(graphs))
	for _, g := range graphs {
		out[g.name] = matrix{Status: "success", Data: matrixData{ResultType: "matrix", Result: []line{}}}
	}
	for _, queue := range s.names() {
		if len(q.queues) > 0 && !slices.Contains(q.queues, queue) {
			continue
		}
		list := s.from(queue, q.from.Add(-lookback).UnixMilli())
		for _, g := range graphs {
			if values := g.values(list, q); len(values) > 0 {
				m := out[g.name]
				m.Data.Result = append(m.Data.Result, line{Metric: map[string]string{"queue": queue}, Values: values})
				out[g.name] = m
			}
		}
	}
	return out
}

// values walks the samples once, step by step.
func (g graph) values(list []sample, q metricsQuery) [][2]any {
	var out [][2]any
	now, before := -1, 0
	for at := q.from; !at.After(q.to); at = at.Add(q.step) {
		ms := at.UnixMilli()
		for now+1 < len(list) && list[now+1].at <= ms {
			now++
		}
		if now < 0 || ms-list[now].at > lookback.Milliseconds() {
			continue
		}
		for before < now && list[before].at < ms-lookback.Milliseconds() {
			before++
		}
		if v, ok := g.value(list[now], list[before]); ok {
			out = append(out, [2]any{at.Unix(), strconv.FormatFloat(v, 'g', -1, 64)})
		}
	}
	return out
}

// metricsQuery is what the page asks for.
type metricsQuery struct {
	from, to time.Time
	step     time.Duration
	queues   []string
}

// maxPoints bounds a line, as asynqmon does.
const maxPoints = 2160

func parseMetricsQuery(v url.Values, now time.Time) (metricsQuery, error) {
	seconds, err := number(v, "duration", 3600)
	if err != nil {
		return metricsQuery{}, err
	}
	end, err := number(v, "endtime", now.Unix())
	if err != nil {
		return metricsQuery{}, err
	}
	if seconds < 1 || seconds > 366*24*3600 {
		return metricsQuery{}, fmt.Errorf("duration is %d: want seconds, up to a year", seconds)
	}
	q := metricsQuery{to: time.Unix(end, 0), step: max(sampleEvery, time.Duration(seconds)*time.Second/maxPoints)}
	q.step = q.step.Round(time.Second)
	// Moments are multiples of the step, so that a graph does not shiver from
	// poll to poll.
	q.from = q.to.Add(-time.Duration(seconds) * time.Second).Truncate(q.step)
	if s := v.Get("queues"); s != "" {
		q.queues = strings.Split(s, ",")
	}
	return q, nil
}

// number reads seconds, which the page may give with a fraction.
func number(v url.Values, name string, otherwise int64) (int64, error) {
	s := v.Get(name)
	if s == "" {
		return otherwise, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f || f < 0 || f > 1e12 {
		return 0, fmt.Errorf("%s is %.40q: want seconds", name, s)
	}
	return int64(f), nil
}
