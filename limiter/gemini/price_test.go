package gemini

import (
	"strings"
	"testing"
	"time"
)

// day is a time of the Pacific coast.
func day(s string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", s, pacific)
	if err != nil {
		panic(err)
	}
	return t
}

// TestCost is a table made by hand from the price page: a thousand tokens in,
// a thousand out, in micro-dollars.
func TestCost(t *testing.T) {
	in1k := Usage{Prompt: 1000, Candidates: 600, Thoughts: 400}
	now := "2026-11-29 12:00"
	for _, c := range []struct {
		model string
		u     Usage
		at    string
		want  int64
	}{
		{"gemini-3.8-flash", in1k, "2026-12-31 23:59", 4_500},
		{"gemini-3.8-flash", in1k, "2027-01-01 00:00", 9_000},
		{"models/Gemini-3.7-Flash", in1k, now, 4_500},
		{"gemini-3.6-flash", in1k, now, 4_500},
		{"gemini-3.5-flash", in1k, now, 10_500},
		{"gemini-3.5-flash-lite", in1k, now, 2_800},
		{"gemini-3.1-flash-lite", in1k, now, 1_750},
		{"gemini-3.1-pro-preview", in1k, now, 14_000},
		{"gemini-3-flash-preview", in1k, now, 3_500},
		{"gemini-2.5-pro", in1k, now, 11_250},
		{"gemini-2.5-flash", in1k, now, 2_800},
		{"gemini-2.5-flash-lite", in1k, now, 500},
		{"gemini-embedding-001", Usage{Prompt: 1000}, now, 150},
		{"gemini-embedding-2", Usage{Prompt: 1000, PromptByModality: Modalities{Image: 400}}, now, 300},
		{"gemini-3-pro-image", Usage{Prompt: 1000, Candidates: 1120, OutputByModality: Modalities{Image: 1000}}, now, 2_000 + 1_440 + 120_000},

		// the long tier is chosen by the prompt, for the whole request
		{"gemini-2.5-pro", Usage{Prompt: 200_000, Candidates: 1000}, now, 260_000},
		{"gemini-2.5-pro", Usage{Prompt: 200_001, Candidates: 1000}, now, 515_003},
		// cached tokens are part of the prompt, tool results are input
		{"gemini-2.5-flash", Usage{Prompt: 10_000, Cached: 8_000, ToolUse: 500}, now, 990},
		{"gemini-2.5-flash", Usage{Prompt: 1000, PromptByModality: Modalities{Audio: 1000}}, now, 1000},
		// tiers
		{"gemini-3.8-flash", Usage{Prompt: 1000, Candidates: 1000, Tier: "flex"}, now, 2_250},
		{"gemini-3.7-flash", Usage{Prompt: 1000, Candidates: 1000, Tier: "priority"}, now, 8_100},
		{"gemini-3.8-flash", Usage{Prompt: 1000, Candidates: 1000, Tier: "nobody-knows"}, now, 9_000},
		{"gemini-3.8-flash", Usage{Prompt: 1000, Cached: 1000, Tier: "batch"}, now, 75},
		// one token is not free
		{"gemini-2.5-flash-lite", Usage{Prompt: 1}, now, 1},
	} {
		got, known := EmbeddedPrices().Cost(c.model, c.u, day(c.at))
		if !known || got != c.want {
			t.Errorf("%s %+v at %s: %d (known %v), want %d", c.model, c.u, c.at, got, known, c.want)
		}
	}
}

func TestUnknownPriceIsNotZero(t *testing.T) {
	for _, model := range []string{"gemini-4-flash-preview-11-2026", "", "gemini-flash-latest"} {
		if cost, known := EmbeddedPrices().Cost(model, Usage{Prompt: 1000}, noon); known {
			t.Errorf("%q costs %d", model, cost)
		}
	}
}

func TestEveryPriceIsSet(t *testing.T) {
	if len(EmbeddedPrices().Models()) < 15 {
		t.Errorf("%v", EmbeddedPrices().Models())
	}
	for _, model := range EmbeddedPrices().Models() {
		q, ok := EmbeddedPrices().Quote(model, 1000, "", noon)
		if !ok || q.Expired || q.Input <= 0 || q.Source == "" || q.Output == 0 && !strings.Contains(model, "embedding") {
			t.Errorf("%s: %+v", model, q)
		}
	}
}

func TestExpiredPriceTakesTheDearest(t *testing.T) {
	book, err := ReadPrices(strings.NewReader(`
unit: usd_per_million_tokens
models:
  - names: [m]
    prices:
      - {until: 2026-01-31, input: 4, output: 2}
      - {from: 2026-02-01, until: 2026-02-28, input: 3, output: 9}
`))
	if err != nil {
		t.Fatal(err)
	}
	q, ok := book.Quote("m", 1, "", day("2026-03-01 00:00"))
	if !ok || !q.Expired || q.Input != 4_000_000 || q.Output != 9_000_000 {
		t.Errorf("%+v", q)
	}
	if q, _ := book.Quote("m", 1, "", day("2026-02-28 23:59")); q.Expired {
		t.Error("its last day has ended too soon")
	}
}

func TestOwnPricesGoFirst(t *testing.T) {
	own, err := ReadPrices(strings.NewReader("{unit: micro_usd_per_million_tokens, models: [{names: [gemini-2.5-flash], prices: [{input: 7000000, output: 0}]}]}"))
	if err != nil {
		t.Fatal(err)
	}
	book := EmbeddedPrices().With(own)
	if got, _ := book.Cost("gemini-2.5-flash", Usage{Prompt: 1000}, noon); got != 7000 {
		t.Errorf("own price: %d", got)
	}
	if got, _ := book.Cost("gemini-2.5-pro", Usage{Prompt: 1000}, noon); got != 1250 {
		t.Errorf("other price: %d", got)
	}
}
