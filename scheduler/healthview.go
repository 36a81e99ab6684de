package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// HealthSource gives what was counted of calls between two times, in buckets of
// about five seconds.
type HealthSource interface {
	Samples(ctx context.Context, from, to time.Time) ([]gemini.UsageSample, error)
}

// MeterSource is what all processes of a scope count together.
type MeterSource struct {
	Redis redis.UniversalClient
	Scope limiter.Scope
}

// Samples implements HealthSource.
func (m MeterSource) Samples(ctx context.Context, from, to time.Time) ([]gemini.UsageSample, error) {
	return gemini.ReadMeter(ctx, m.Redis, m.Scope, gemini.Step5s, from, to)
}

// Watch is whose health counts, and when it is bad.
type Watch struct {
	// Classes that are watched; default those that people wait for: neither
	// pausable nor smoothed.
	Classes []string
	Thresholds
	// Features with thresholds of their own are judged by themselves; the others
	// of a class are judged together.
	Features map[string]Thresholds
}

// Check names the first field that is wrong. at is where they stand in the
// configuration: "health".
func (w Watch) Check(at string, classes []limiter.Class) error {
	for _, name := range w.Classes {
		i := slices.IndexFunc(classes, func(k limiter.Class) bool { return k.Name == name })
		if i < 0 {
			return &ConfigError{at + ".classes", fmt.Sprintf("there is no class %q", name)}
		}
		if classes[i].Pausable {
			return &ConfigError{at + ".classes", fmt.Sprintf("class %q is pausable: its health would be made by pausing it", name)}
		}
	}
	if err := w.Thresholds.Check(at); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(w.Features)) {
		if err := w.Features[name].Check(at + ".features." + name); err != nil {
			return err
		}
	}
	return nil
}

// orDefault fills Classes in.
func (w Watch) orDefault(classes []limiter.Class) Watch {
	w.Thresholds = w.Thresholds.orDefault()
	for _, k := range classes {
		if len(w.Classes) == 0 && !k.Pausable && !k.Smooth {
			w.Classes = []string{k.Name}
		}
	}
	return w
}

// FeatureHealth is what a look saw of a class and feature; of all features of a
// class that have no thresholds of their own when Feature is "".
type FeatureHealth struct {
	Class       string  `json:"class"`
	Feature     string  `json:"feature"`
	Calls       int64   `json:"calls"`
	N           int64   `json:"n"` // calls that are not streamed: what P95 is of
	P95         Millis  `json:"p95_ms"`
	Streams     int64   `json:"streams"` // what FirstToken is of
	FirstToken  Millis  `json:"first_token_p95_ms"`
	Provider429 int64   `json:"provider_429"`
	Refused     int64   `json:"refused"`                     // locally, for quota that bulk may have taken: no pause of bulk helps what a caller's own limit, money or a refused key stops
	Ratio       float64 `json:"ratio"`                       // of both, of all calls
	Otherwise   int64   `json:"refused_otherwise,omitempty"` // for all that, and likewise no part of Ratio

	OtherwiseBy []gemini.Count `json:"refused_otherwise_by,omitempty"` // what it was, the most first

	Judged bool   `json:"judged"` // thresholds apply to this line; else it is part of its class's
	Bad    string `json:"bad,omitempty"`
}

// View is what a look saw.
type View struct {
	At   time.Time       `json:"at"`
	Over Millis          `json:"over_ms"`
	Data time.Time       `json:"data,omitzero"` // when watched calls were last seen; zero: never
	Rows []FeatureHealth `json:"rows"`
}

// NoData says that no watched call was seen in the time that the look is of.
func (v View) NoData() bool { return v.Data.Before(v.At.Add(-v.Over.Duration())) }

// bad gives the first line that is bad.
func (v View) bad() (why string, bad bool) {
	for _, r := range v.Rows {
		if r.Bad != "" {
			return cmp.Or(r.Feature, r.Class) + ": " + r.Bad, true
		}
	}
	return "", false
}

// see judges samples. last is when watched calls were seen before.
func (w Watch) see(samples []gemini.UsageSample, now time.Time, over time.Duration, last time.Time) View {
	v := View{At: now, Over: Millis(over), Data: last}
	sums := map[[2]string]*gemini.UsageSample{}
	add := func(class, feature string, s gemini.UsageSample) {
		key := [2]string{class, feature}
		if sums[key] == nil {
			sums[key] = &gemini.UsageSample{}
		}
		sums[key].Merge(s)
	}
	for _, s := range samples {
		if !slices.Contains(w.Classes, s.Class) || s.Calls == 0 {
			continue
		}
		v.Data = limiter.Later(v.Data, limiter.Earlier(s.At.Add(gemini.Step5s.Width()), now))
		add(s.Class, s.Feature, s)
		if _, own := w.Features[s.Feature]; !own {
			add(s.Class, "", s)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		v.Rows = append(v.Rows, w.row(k[0], k[1], sums[k]))
	}
	return v
}

func (w Watch) row(class, feature string, s *gemini.UsageSample) FeatureHealth {
	r := FeatureHealth{
		Class: class, Feature: feature, Calls: s.Calls, Provider429: s.ContestedThere(), Refused: s.ContestedHere(),
		N: s.Latency.N(), P95: Millis(s.Latency.Quantile(0.95)), Streams: s.FirstToken.N(), FirstToken: Millis(s.FirstToken.Quantile(0.95)),
		Ratio: float64(s.ContestedThere()+s.ContestedHere()) / float64(max(s.Calls, 1)),
	}
	r.Otherwise, r.OtherwiseBy = s.Otherwise()
	own, judged := w.Features[feature]
	if r.Judged = judged || feature == ""; r.Judged {
		t := w.Thresholds
		if judged {
			t = own.orDefault()
		}
		r.Bad = t.crossed(r)
	}
	return r
}

// crossed says which threshold a line crosses; "" for none.
func (t Thresholds) crossed(r FeatureHealth) string {
	switch refusals := r.Provider429 + r.Refused; {
	case refusals >= t.Refusals && r.Ratio > t.RefusedRatio:
		return fmt.Sprintf("%d of %d calls refused (%d by the provider, %d here)", refusals, r.Calls, r.Provider429, r.Refused)
	case r.N >= t.Samples && r.P95.Duration() > t.P95:
		return fmt.Sprintf("p95 %s over %s (%d calls)", r.P95, Millis(t.P95), r.N)
	case r.Streams >= t.Samples && r.FirstToken.Duration() > t.FirstToken:
		return fmt.Sprintf("p95 of the first token %s over %s (%d streams)", r.FirstToken, Millis(t.FirstToken), r.Streams)
	}
	return ""
}
