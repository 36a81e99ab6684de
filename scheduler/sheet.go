package scheduler

import (
	"github.com/prometheus/client_golang/prometheus"
)

// sheet is what one reading of the shared state found, for Prometheus. Values that
// have all labels alike are added up, since Prometheus refuses a whole answer that
// has a series twice.
type sheet struct {
	order  []sheetCell
	values map[sheetKey]float64
}

type sheetKey struct {
	desc   *prometheus.Desc
	labels [3]string
}

type sheetCell struct {
	sheetKey
	kind prometheus.ValueType
	n    int // of labels
}

func newSheet() *sheet { return &sheet{values: map[sheetKey]float64{}} }

// cell gives a value's place, which it makes.
func (s *sheet) cell(kind prometheus.ValueType, d *prometheus.Desc, labels []string) sheetKey {
	k := sheetKey{desc: d}
	copy(k.labels[:], labels)
	if _, there := s.values[k]; !there {
		s.values[k] = 0
		s.order = append(s.order, sheetCell{k, kind, len(labels)})
	}
	return k
}

func (s *sheet) add(d *prometheus.Desc, v float64, labels ...string) {
	s.values[s.cell(prometheus.GaugeValue, d, labels)] += v
}

// most keeps the largest of what has its labels alike.
func (s *sheet) most(d *prometheus.Desc, v float64, labels ...string) {
	k := s.cell(prometheus.GaugeValue, d, labels)
	s.values[k] = max(s.values[k], v)
}

func (s *sheet) count(d *prometheus.Desc, v float64, labels ...string) {
	s.values[s.cell(prometheus.CounterValue, d, labels)] += v
}

func (s *sheet) send(to chan<- prometheus.Metric) {
	for _, c := range s.order {
		to <- prometheus.MustNewConstMetric(c.desc, c.kind, s.values[c.sheetKey], c.labels[:c.n]...)
	}
}
