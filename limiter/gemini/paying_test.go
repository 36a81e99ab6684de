package gemini

import (
	"bytes"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestMillionAdditions: a call of 50 tokens to gemini-3.8-flash costs $0.0000375,
// which is no whole number of micro-dollars. A million of them are charged $37.50.
func TestMillionAdditions(t *testing.T) {
	b := EmbeddedPrices().Bill("gemini-3.8-flash", Usage{Prompt: 50}, noon)
	if b.PicoUSD != 37_500_000 {
		t.Fatalf("a call costs %d pico-dollars", b.PicoUSD)
	}
	var c change
	var charged int64
	for range 1_000_000 {
		charged += c.charge(changeKey{class: "bulk"}, b.PicoUSD)
	}
	if charged != 37_500_000 {
		t.Errorf("charged %d micro-dollars, want 37500000", charged)
	}
	t.Logf("one million additions of $0.0000375: %d micro-dollars charged, 37500000 exact; each rounded up by itself: %d", charged, 1_000_000*b.MicroUSD())
}

// TestChangeIsNeverShort: at every moment each caller has been charged what its
// calls cost, and less than a micro-dollar more.
func TestChangeIsNeverShort(t *testing.T) {
	var c change
	r := rand.New(rand.NewPCG(1, 2))
	cost, charged := map[string]int64{}, map[string]int64{}
	for range 20_000 {
		who := string(rune('a' + r.IntN(5)))
		pico := r.Int64N(3 * picoPerMicro)
		cost[who] += pico
		charged[who] += c.charge(changeKey{feature: who}, pico)
		if over := charged[who]*picoPerMicro - cost[who]; over < 0 || over >= picoPerMicro {
			t.Fatalf("%s: %d charged for %d pico-dollars", who, charged[who], cost[who])
		}
	}
	for i := range 2 * mostChange {
		c.charge(changeKey{path: limiter.Path{Run: num(int64(i))}}, 1)
	}
	if len(c.paid) > mostChange {
		t.Errorf("%d callers are remembered", len(c.paid))
	}
}

// TestPricedAs: whatever name a call was made by, its price is found if one of the
// bucket's names has one, and is never zero otherwise.
func TestPricedAs(t *testing.T) {
	for name, c := range map[string]struct {
		model Model
		asked string
		want  string
	}{
		"by its name":             {Model{Name: "gemini-3.8-flash"}, "gemini-3.8-flash", "gemini-3.8-flash"},
		"a latest alias":          {Model{Name: "gemini-3.8-flash", Aliases: []string{"gemini-flash-latest"}}, "gemini-flash-latest", "gemini-3.8-flash"},
		"capitals and models/":    {Model{Name: "gemini-3.8-flash"}, "models/Gemini-3.8-Flash", "gemini-3.8-flash"},
		"a tuned model":           {Model{Name: "gemini-2.5-flash", Aliases: []string{"tunedModels/mine"}}, "tunedmodels/mine", "gemini-2.5-flash"},
		"a bucket without price":  {Model{Name: "gemini-3.1-pro", Aliases: []string{"gemini-3.1-pro-preview"}}, "gemini-3.1-pro", "gemini-3.1-pro-preview"},
		"its own before bucket's": {Model{Name: "gemini-2.5-pro", Aliases: []string{"gemini-2.5-flash"}}, "gemini-2.5-flash", "gemini-2.5-flash"},
		"nobody's":                {Model{Name: "gemini-4-flash-preview-11-2026"}, "", "gemini-4-flash-preview-11-2026"},
	} {
		if got := c.model.PricedAs(EmbeddedPrices(), c.asked); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// clock is a transport's, set by hand.
func clock(at *time.Time) func(*TransportConfig) {
	return func(c *TransportConfig) { c.Now = func() time.Time { return *at } }
}

// TestPricesDoubleInTheMiddleOfARun: a call is charged by the moment in which it
// went out, and shortly before the change held at the new price.
func TestPricesDoubleInTheMiddleOfARun(t *testing.T) {
	at := day("2026-12-31 12:00")
	gate := &fakeGate{}
	lanes, _ := NewLaneMap("p", "", Model{Name: "gemini-3.8-flash"})
	body := `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":1000,"totalTokenCount":2000}}`
	tr := newTestTransport(t, replies(200, "application/json", body), gate, clock(&at), func(c *TransportConfig) { c.Lanes = lanes })
	const path = "/v1beta/models/gemini-3.8-flash:generateContent"
	const ask = `{"contents":[{"parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":1000}}`
	var held []int64
	for i, c := range []struct {
		at      string
		charged int64
		dear    bool // held at the new price
	}{
		{"2026-12-31 12:00", 4_500, false}, {"2026-12-31 23:49", 4_500, false}, {"2026-12-31 23:51", 4_500, true},
		{"2026-12-31 23:59", 4_500, true}, {"2027-01-01 00:00", 9_000, true}, {"2027-01-02 00:00", 9_000, true},
	} {
		at = day(c.at)
		ctx, seen := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, path, ask)); err != nil {
			t.Fatal(err)
		}
		held = append(held, gate.acquired[i].Amounts[limiter.MicroUSD])
		if got := gate.settled[i].Used[limiter.MicroUSD]; got != c.charged || seen.MicroUSD != c.charged || seen.PicoUSD != c.charged*picoPerMicro {
			t.Errorf("%s: %d charged, want %d: %+v", c.at, got, c.charged, seen)
		}
		if dear := held[i] > held[0]*3/2; dear != c.dear || held[i] < c.charged-4500+held[0]-4500 {
			t.Errorf("%s: %d held, %d at noon", c.at, held[i], held[0])
		}
	}
}

// TestServedTierIsCharged: the header says which tier served, whatever was asked.
func TestServedTierIsCharged(t *testing.T) {
	for _, c := range []struct {
		asked, header string
		want          int64
	}{
		{"", "", 2800}, {"flex", "flex", 1400}, {"priority", "standard", 2800}, {"priority", "priority", 5600},
		{"flex", "standard", 2800}, {"", "nobody-knows", 5600}, {"PRIORITY", "SERVICE_TIER_PRIORITY", 5600},
	} {
		base := sender(func(*http.Request) (*http.Response, error) {
			r := reply(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":1000}}`)
			if c.header != "" {
				r.Header.Set("X-Gemini-Service-Tier", c.header)
			}
			return r, nil
		})
		ctx, seen := callCtx(t.Context())
		if _, err := newTestTransport(t, base, &fakeGate{}).RoundTrip(post(ctx, generate, `{"serviceTier":"`+c.asked+`",`+question[1:])); err != nil {
			t.Fatal(err)
		}
		if seen.MicroUSD != c.want {
			t.Errorf("asked %q, served %q: %d, want %d", c.asked, c.header, seen.MicroUSD, c.want)
		}
	}
}

// TestSearchesAreCharged: they are in the answer, not in its usage; a stream
// repeats them, several candidates add up.
func TestSearchesAreCharged(t *testing.T) {
	const grounded = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["a, \"b\"","c"]}},` +
		`{"content":{"parts":[{"text":"y"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["d"]}}],"usageMetadata":{"promptTokenCount":1000}}`
	lanes, _ := NewLaneMap("p", "", Model{Name: "gemini-3.8-flash"})
	for name, c := range map[string]struct{ method, kind, body string }{
		"unary":    {"generateContent", "application/json", grounded},
		"streamed": {"streamGenerateContent?alt=sse", "text/event-stream", "data: " + grounded + "\r\n\r\ndata: " + grounded + "\r\n\r\n"},
	} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(200, c.kind, c.body), gate, func(x *TransportConfig) { x.Lanes = lanes; x.Now = func() time.Time { return noon } })
		ctx, seen := callCtx(t.Context())
		resp, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-3.8-flash:"+c.method, question[:len(question)-1]+`,"tools":[{"google_search":{}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if seen.Usage.Searches != 3 || seen.MicroUSD != 750+3*14_000 {
			t.Errorf("%s: %+v", name, seen)
		}
		if held := gate.acquired[0].Amounts[limiter.MicroUSD]; held < heldSearches*14_000+245_000 {
			t.Errorf("%s: %d held", name, held)
		}
	}
}

// TestMediaIsHeldAtItsPrice: what is held for an audio prompt, or for an image that
// is made, is not less than it costs.
func TestMediaIsHeldAtItsPrice(t *testing.T) {
	e := &Estimator{Prices: EmbeddedPrices(), Now: func() time.Time { return noon }}
	sound := inline("audio/wav", wav(100), "")
	a, err := e.Ask(Ask{Method: "generateContent", Model: Model{Name: "gemini-2.5-flash", MaxOutput: 1}, Body: []byte(sound)})
	if err != nil || a.media.Audio < 3200 || a.Amounts[limiter.MicroUSD] < a.media.Audio {
		t.Errorf("%+v %v", a, err)
	}
	picture, _ := e.Ask(Ask{Method: "generateContent", Model: Model{Name: "gemini-3-pro-image", MaxOutput: 32_768}, Body: []byte(question)})
	if got := picture.Amounts[limiter.MicroUSD]; got < 2_520*120 || got > 1_000_000 {
		t.Errorf("%d held for an image", got)
	}
}

// TestExpiredPriceWarns once a minute, and charges the dearest known.
func TestExpiredPriceWarns(t *testing.T) {
	book, err := ReadPrices(strings.NewReader(`{unit: usd_per_million_tokens, models: [{names: [gemini-2.5-flash], prices: [` +
		`{until: 2026-06-30, input: 9, output: 1}, {from: 2026-07-01, until: 2026-10-31, input: 1, output: 2}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	at, logged := noon, &bytes.Buffer{}
	var kept []Record
	tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{}, clock(&at), func(c *TransportConfig) {
		c.Prices, c.Logger = book, slog.New(slog.NewTextHandler(logged, nil))
		c.Records = recordsFunc(func(r Record) { kept = append(kept, r) })
	})
	for range 5 {
		ctx, seen := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
		if seen.Price != PriceExpired || seen.PicoUSD != (8*9+930*2)*perMillion {
			t.Errorf("%+v", seen)
		}
		at = at.Add(20 * time.Second)
	}
	if n := strings.Count(logged.String(), "has expired"); n != 2 || kept[0].Price != PriceExpired {
		t.Errorf("%d lines:\n%s%+v", n, logged, kept[0])
	}
}

type recordsFunc func(Record)

func (f recordsFunc) Put(r Record) { f(r) }
