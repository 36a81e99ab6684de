package gemini

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBill is a table made by hand: each kind of token at its own price, in
// pico-dollars (a dollar a million is a million of them each).
func TestBill(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		u     Usage
		want  string // lines as "what count×price", price in micro-dollars a million
	}{
		"text":              {"gemini-3.8-flash", Usage{Prompt: 10, Candidates: 3, Thoughts: 7}, "input 10×750000, output 3×3750000, thinking 7×3750000"},
		"tools and a cache": {"gemini-3.8-flash", Usage{Prompt: 100, Cached: 40, ToolUse: 5}, "input 60×750000, tool result 5×750000, cached input 40×75000"},
		"audio":             {"gemini-3.1-flash-lite", Usage{Prompt: 100, PromptByModality: Modalities{Audio: 30}}, "input 70×250000, audio input 30×500000"},
		"audio in a cache": {"gemini-3.1-flash-lite", Usage{Prompt: 100, Cached: 50, PromptByModality: Modalities{Audio: 30}, CachedByModality: Modalities{Audio: 20}},
			"input 40×250000, audio input 10×500000, cached input 30×25000, audio cached input 20×50000"},
		"an image in a cache": {"gemini-3-pro-image", Usage{Prompt: 100, Cached: 100, PromptByModality: Modalities{Image: 100}, CachedByModality: Modalities{Image: 100}},
			"image cached input 100×2000000"},
		"audio from a tool": {"gemini-2.5-flash", Usage{ToolUse: 10, ToolUseByModality: Modalities{Audio: 4}}, "tool result 6×300000, audio tool result 4×1000000"},
		"an image made":     {"gemini-3-pro-image", Usage{Candidates: 1130, OutputByModality: Modalities{Image: 1120}}, "output 10×12000000, image output 1120×120000000"},
		"an image embedded": {"gemini-embedding-2", Usage{Prompt: 10, PromptByModality: Modalities{Image: 1, Audio: 2, Video: 3}}, "input 4×200000, audio input 2×6500000, image input 1×450000, video input 3×12000000"},
		"more details than there is": {"gemini-embedding-2", Usage{Prompt: 10, PromptByModality: Modalities{Image: 9, Audio: 9, Video: 9}},
			"image input 1×450000, video input 9×12000000"},
		"more cached than there is": {"gemini-3.8-flash", Usage{Prompt: 10, Cached: 15}, "cached input 10×75000"},
		"a long prompt":             {"gemini-2.5-pro", Usage{Prompt: 200_001, Cached: 1, Candidates: 2, Searches: 3}, "input 200000×2500000, cached input 1×250000, output 2×15000000, search 1×35000000000"},
		"searches":                  {"gemini-3.8-flash", Usage{Prompt: 1, Searches: 3}, "input 1×750000, search 3×14000000000"},
		"flex":                      {"gemini-3.8-flash", Usage{Prompt: 2, Cached: 1, Candidates: 1, Tier: "flex"}, "input 1×375000, cached input 1×37500, output 1×1875000"},
		"batch":                     {"gemini-3.8-flash", Usage{Prompt: 2, Cached: 1, Candidates: 1, Tier: "batch"}, "input 1×375000, cached input 1×75000, output 1×1875000"},
		"nothing":                   {"gemini-3.8-flash", Usage{}, ""},
	} {
		b := EmbeddedPrices().Bill(c.model, c.u, noon)
		var sum int64
		lines := make([]string, len(b.Lines))
		for i, l := range b.Lines {
			lines[i] = l.What + " " + num(l.Count) + "×" + num(l.Price)
			sum += l.Count * l.Price
		}
		if got := strings.Join(lines, ", "); got != c.want || sum != b.PicoUSD {
			t.Errorf("%s: %s (%d, sum %d)\nwant %s", name, got, b.PicoUSD, sum, c.want)
		}
		if micro, _ := EmbeddedPrices().Cost(c.model, c.u, noon); micro != b.MicroUSD() {
			t.Errorf("%s: cost %d, bill %d", name, micro, b.MicroUSD())
		}
	}
}

// TestStorage: begun hours of a cache are paid in full, where a price is known.
func TestStorage(t *testing.T) {
	b := EmbeddedPrices().Bill("gemini-3.8-flash", Usage{}, noon)
	if !b.Store(1_000_000, 61*time.Minute) || b.MicroUSD() != 1_000_000 {
		t.Errorf("%+v", b)
	}
	b = EmbeddedPrices().Bill("gemini-3.5-flash", Usage{}, noon)
	if b.Store(1_000_000, time.Hour) {
		t.Error("a price of storage that nobody knows")
	}
}

// TestUnknownModelIsTheDearest: of each thing no known model costs more, at no
// time and by no tier.
func TestUnknownModelIsTheDearest(t *testing.T) {
	all := Usage{
		Prompt: 300_000, Cached: 1000, Candidates: 1000, Thoughts: 10, ToolUse: 10, Searches: 2,
		PromptByModality: Modalities{Audio: 1000, Image: 1000, Video: 1000}, OutputByModality: Modalities{Image: 500},
	}
	for _, tier := range []string{"", "flex", "batch", "priority", "nobody-knows"} {
		for _, u := range []Usage{all, {Prompt: 1000}, {Candidates: 1000}, {Prompt: 9, PromptByModality: Modalities{Video: 9}}} {
			u.Tier = tier
			dearest, known := EmbeddedPrices().Cost("gemini-4-flash-preview-11-2026", u, noon)
			if known {
				t.Fatal("it is known")
			}
			plain := u
			plain.Tier = ""
			if standard, _ := EmbeddedPrices().Cost("gemini-4-flash-preview-11-2026", plain, noon); dearest < standard {
				t.Errorf("%q makes a model that nobody knows cheaper: %d, %d", tier, dearest, standard)
			}
			for _, model := range EmbeddedPrices().Models() {
				for _, at := range []time.Time{noon, day("2027-01-01 00:00")} {
					if cost, _ := EmbeddedPrices().Cost(model, u, at); cost > dearest {
						t.Errorf("%s of %q costs %d, the dearest %d", model, tier, cost, dearest)
					}
				}
			}
		}
	}
}

// TestNonsenseIsNotCheap: counts that overflow end at the top.
func TestNonsenseIsNotCheap(t *testing.T) {
	cost, _ := EmbeddedPrices().Cost("gemini-3-pro-image", Usage{Prompt: math.MaxInt64 / 2, Candidates: math.MaxInt64 / 2}, noon)
	if cost != math.MaxInt64/picoPerMicro+1 {
		t.Errorf("%d", cost)
	}
}

func num(n int64) string { return strconv.FormatInt(n, 10) }
