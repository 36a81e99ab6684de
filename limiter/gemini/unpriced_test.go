package gemini

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"nightshift/limiter"
)

// limitedGate knows the limits in force.
type limitedGate struct {
	*fakeGate
	conf limiter.Config
	err  error
	read int
}

func (g *limitedGate) Effective(context.Context) (limiter.Config, error) {
	g.read++
	return g.conf, g.err
}

const unknownModel = "gemini-4-flash-preview-11-2026"

// TestUnpriced: a model that nobody knows the price of is refused to classes that
// wait where a limit in money holds, and charged as the dearest elsewhere.
func TestUnpriced(t *testing.T) {
	money := map[string]limiter.Limits{"tenant/acme": {USDPerMonth: 5_000_000}}
	for name, c := range map[string]struct {
		class   string
		nodes   map[string]limiter.Limits
		err     error
		refused limiter.Reason
	}{
		"bulk with a limit":           {"bulk", money, nil, limiter.ReasonNoPrice},
		"bulk without one":            {"bulk", nil, nil, ""},
		"bulk, limits not known":      {"bulk", nil, errors.New("away"), limiter.ReasonUnavailable},
		"interactive with a limit":    {"interactive", money, nil, ""},
		"interactive without a limit": {"interactive", nil, nil, ""},
	} {
		logged := &bytes.Buffer{}
		gate := &limitedGate{fakeGate: &fakeGate{}, conf: limiter.Config{Nodes: c.nodes}, err: c.err}
		lanes, _ := NewLaneMap("p", "", Model{Name: unknownModel})
		tr := newTestTransport(t, replies(200, "application/json", good), gate.fakeGate, func(x *TransportConfig) {
			x.Gate, x.Lanes, x.RefuseUnpriced = gate, lanes, map[string]bool{"bulk": true}
			x.Logger = slog.New(slog.NewTextHandler(logged, nil))
		})
		for range 3 {
			ctx, seen := Observe(WithCaller(t.Context(), Caller{Class: c.class, Feature: "f", Path: limiter.Path{Tenant: "acme"}}))
			_, err := tr.RoundTrip(post(ctx, "/v1beta/models/"+unknownModel+":generateContent", question))
			checkUnpriced(t, name, c.refused, seen, err)
		}
		lines := strings.Count(logged.String(), "no price of the model is known")
		if want := map[bool]int{true: 1, false: 0}[c.refused == ""]; lines != want {
			t.Errorf("%s: %d lines, want %d:\n%s", name, lines, want, logged)
		}
		if c.refused == limiter.ReasonNoPrice && (gate.read != 1 || len(gate.acquired) != 0) {
			t.Errorf("%s: limits read %d times, %d permits", name, gate.read, len(gate.acquired))
		}
	}
}

func checkUnpriced(t *testing.T, name string, refused limiter.Reason, seen *Observation, err error) {
	t.Helper()
	var d *limiter.Denied
	if refused != "" {
		if !errors.As(err, &d) || d.Reason != refused || d.Permanent || d.RetryAfterMS <= 0 {
			t.Errorf("%s: %v", name, err)
		}
		if refused == limiter.ReasonNoPrice && !strings.Contains(err.Error(), "no price of "+unknownModel+" is known and usd_per_month of tenant/acme holds") {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	dearest, _ := EmbeddedPrices().Cost(unknownModel, seen.Usage, noon)
	if err != nil || seen.Priced || seen.Price != PriceUnknown || roundUp(seen.PicoUSD) != dearest || seen.Used[limiter.MicroUSD] != seen.MicroUSD || dearest < 930*18 {
		t.Errorf("%s: %v %+v", name, err, seen)
	}
}

// TestUnpricedIsObserved: where nothing is refused, it is said what would be.
func TestUnpricedIsObserved(t *testing.T) {
	gate := &limitedGate{fakeGate: &fakeGate{}, conf: limiter.Config{Nodes: map[string]limiter.Limits{"feature/test": {USDPerDay: 1}}}}
	tr := newTestTransport(t, replies(200, "application/json", good), gate.fakeGate, func(x *TransportConfig) {
		x.Gate, x.Observe, x.RefuseUnpriced = gate, true, map[string]bool{"bulk": true}
	})
	ctx, seen := callCtx(t.Context())
	if _, err := tr.RoundTrip(post(ctx, "/v1beta/models/"+unknownModel+":generateContent", question)); err != nil || seen.Over != string(limiter.ReasonNoPrice) {
		t.Errorf("%v %+v", err, seen)
	}
}
