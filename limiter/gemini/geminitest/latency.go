package geminitest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Latency is how long answers take. A call takes
// (Base + PerToken·output)·X, X log-normal with median 1 and the given sigma.
type Latency struct {
	Base     time.Duration `json:"base,omitempty" yaml:"base,omitempty"`
	PerToken time.Duration `json:"per_token,omitempty" yaml:"per_token,omitempty"` // of output, thoughts included
	Sigma    float64       `json:"sigma,omitempty" yaml:"sigma,omitempty"`         // 0: always the same; 0.3 is lively
	// SlowShare of the calls take SlowFactor (default 10) times as long.
	SlowShare  float64 `json:"slow_share,omitempty" yaml:"slow_share,omitempty"`
	SlowFactor float64 `json:"slow_factor,omitempty" yaml:"slow_factor,omitempty"`
	// Arrival delays a call by up to this before the server counts it.
	Arrival time.Duration `json:"arrival,omitempty" yaml:"arrival,omitempty"`
}

// UnmarshalJSON takes durations as Go writes them ("250ms").
func (l *Latency) UnmarshalJSON(b []byte) error {
	type plain Latency // without this method
	text := struct {
		*plain
		Base     string `json:"base"`
		PerToken string `json:"per_token"`
		Arrival  string `json:"arrival"`
	}{plain: (*plain)(l)}
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("latency: %w", err)
	}
	for field, s := range map[*time.Duration]string{&l.Base: text.Base, &l.PerToken: text.PerToken, &l.Arrival: text.Arrival} {
		if s == "" {
			continue
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("latency: %w", err)
		}
		*field = d
	}
	return nil
}

// MarshalJSON writes durations as UnmarshalJSON reads them.
func (l Latency) MarshalJSON() ([]byte, error) {
	type plain Latency
	return json.Marshal(struct {
		plain
		Base     string `json:"base"`
		PerToken string `json:"per_token"`
		Arrival  string `json:"arrival"`
	}{plain(l), l.Base.String(), l.PerToken.String(), l.Arrival.String()})
}

// latency gives the parts of the time that the answer takes.
func (v *visit) latency() (base, perToken time.Duration) {
	l := v.s.cfg.Latency
	x := v.factor
	if v.fault != nil && v.fault.Kind == FaultSlow {
		x *= l.SlowFactor
	}
	if l.Sigma > 0 || l.SlowShare > 0 {
		rng := v.s.random(v.call.Seq, saltLatency)
		x *= math.Exp(rng.NormFloat64() * l.Sigma)
		if l.SlowShare > 0 && rng.Float64() < l.SlowShare {
			x *= l.SlowFactor
		}
	}
	return time.Duration(float64(l.Base) * x), time.Duration(float64(l.PerToken) * x)
}

// sleep waits, but not longer than the client.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
