package scheduler

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// calls makes a sample of n unary calls that took d each.
func calls(class, feature string, n int, d time.Duration) gemini.UsageSample {
	s := gemini.UsageSample{At: begin.Add(-10 * time.Second), Class: class, Feature: feature, Calls: int64(n), Sent: int64(n), Good: int64(n)}
	for range n {
		s.Latency.Add(d)
	}
	return s
}

func streams(class, feature string, n int, first time.Duration) gemini.UsageSample {
	s := calls(class, feature, n, 0)
	s.Latency, s.FirstToken = gemini.Histogram{}, gemini.Histogram{}
	for range n {
		s.FirstToken.Add(first)
	}
	return s
}

func refused(class, feature string, byProvider, here int) gemini.UsageSample {
	n := int64(byProvider + here)
	return gemini.UsageSample{At: begin.Add(-10 * time.Second), Class: class, Feature: feature, Calls: n, Sent: int64(byProvider), Provider429: int64(byProvider), Refused: int64(here)}
}

// uncontested makes a sample of n calls that money, a refused key or a person refused, and
// of more that were good.
func uncontested(class, feature string, n, good int) gemini.UsageSample {
	s := calls(class, feature, good, time.Second)
	s.Calls, s.Refused, s.Uncontested = s.Calls+int64(n), int64(n), int64(n)
	return s
}

// TestSee: what is bad, at the edge of each threshold.
func TestSee(t *testing.T) {
	classes := []limiter.Class{{Name: "interactive"}, {Name: "agent", Smooth: true}, {Name: "bulk", Pausable: true}}
	own := Watch{Features: map[string]Thresholds{"report": {P95: 20 * time.Second, FirstToken: time.Second, Samples: 5, RefusedRatio: 0.5, Refusals: 1}}}
	for name, c := range map[string]struct {
		watch   Watch
		samples []gemini.UsageSample
		bad     string // part of the reason; "" is well
	}{
		"nobody calls":                          {},
		"money or a refused key":                {samples: []gemini.UsageSample{uncontested("interactive", "chat", 16, 14)}},
		"slow":                                  {samples: []gemini.UsageSample{calls("interactive", "chat", 20, 5*time.Second)}, bad: "interactive: p95"},
		"slow, too few to say":                  {samples: []gemini.UsageSample{calls("interactive", "chat", 19, 5*time.Second)}},
		"slow, in two features":                 {samples: []gemini.UsageSample{calls("interactive", "chat", 10, 5*time.Second), calls("interactive", "search", 10, 5*time.Second)}, bad: "p95"},
		"one in twenty is slow":                 {samples: []gemini.UsageSample{calls("interactive", "chat", 95, time.Second), calls("interactive", "chat", 5, 9*time.Second)}},
		"six in a hundred are slow":             {samples: []gemini.UsageSample{calls("interactive", "chat", 94, time.Second), calls("interactive", "chat", 6, 9*time.Second)}, bad: "p95"},
		"slow streams":                          {samples: []gemini.UsageSample{streams("interactive", "chat", 20, 5*time.Second)}, bad: "first token"},
		"slow agents":                           {samples: []gemini.UsageSample{calls("agent", "code", 99, time.Minute)}},
		"slow bulk":                             {samples: []gemini.UsageSample{calls("bulk", "x", 99, time.Minute), refused("bulk", "x", 50, 50)}},
		"one refusal":                           {samples: []gemini.UsageSample{refused("interactive", "chat", 1, 0)}},
		"two refusals":                          {samples: []gemini.UsageSample{refused("interactive", "chat", 2, 0)}, bad: "2 of 2 calls refused"},
		"one by the provider, one here":         {samples: []gemini.UsageSample{refused("interactive", "chat", 1, 1)}, bad: "1 by the provider, 1 here"},
		"two refusals of four hundred":          {samples: []gemini.UsageSample{refused("interactive", "chat", 2, 0), calls("interactive", "chat", 398, time.Second)}},
		"two refusals of 399":                   {samples: []gemini.UsageSample{refused("interactive", "chat", 2, 0), calls("interactive", "chat", 397, time.Second)}, bad: "2 of 399"},
		"slow, but it may":                      {watch: own, samples: []gemini.UsageSample{calls("interactive", "report", 50, 9*time.Second)}},
		"slower than it may":                    {watch: own, samples: []gemini.UsageSample{calls("interactive", "report", 5, 25*time.Second)}, bad: "report: p95"},
		"those that may be slow do not hide it": {watch: own, samples: []gemini.UsageSample{calls("interactive", "report", 5, time.Second), calls("interactive", "chat", 20, 5*time.Second)}, bad: "interactive: p95"},
		"a class that is watched by choice":     {watch: Watch{Classes: []string{"agent"}}, samples: []gemini.UsageSample{calls("agent", "code", 20, 9*time.Second), refused("interactive", "chat", 9, 0)}, bad: "agent: p95"},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.watch.orDefault(classes).see(c.samples, begin, time.Minute, time.Time{})
			why, bad := v.bad()
			if bad != (c.bad != "") || !strings.Contains(why, c.bad) {
				t.Errorf("bad %v because %q, want %q", bad, why, c.bad)
			}
		})
	}
}

// TestSeeNoData: no calls are no bad sign, and since when there are none is known.
func TestSeeNoData(t *testing.T) {
	w := Watch{}.orDefault([]limiter.Class{{Name: "interactive"}})
	v := w.see([]gemini.UsageSample{calls("interactive", "chat", 1, time.Second)}, begin, time.Minute, time.Time{})
	if v.NoData() {
		t.Error("no data, although there was a call within the minute")
	}
	last := v.Data
	v = w.see([]gemini.UsageSample{calls("bulk", "x", 9, time.Second)}, begin.Add(3*time.Minute), time.Minute, last)
	if _, bad := v.bad(); bad || !v.NoData() || !v.Data.Equal(last) || len(v.Rows) != 0 {
		t.Errorf("after three minutes without calls: %+v, want no data since %v", v, last)
	}
}

// TestSeeOtherwise: what is no sign of too little shared quota is told of all the same.
func TestSeeOtherwise(t *testing.T) {
	w := Watch{}.orDefault([]limiter.Class{{Name: "interactive"}})
	v := w.see([]gemini.UsageSample{uncontested("interactive", "chat", 16, 14)}, begin, time.Minute, time.Time{})
	if len(v.Rows) != 2 || v.Rows[0].Otherwise != 16 || v.Rows[0].Refused != 0 || v.Rows[0].Bad != "" {
		t.Errorf("%+v", v.Rows)
	}
}
