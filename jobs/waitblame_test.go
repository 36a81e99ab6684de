package jobs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// second is so many seconds after a moment of these tests.
func second(s int) time.Time { return time.Unix(1_764_509_000, 0).Add(time.Duration(s) * time.Second) }

func span(c WaitCause, from, to int) Stretch {
	if to < 0 {
		return Stretch{c, second(from), time.Time{}}
	}
	return Stretch{c, second(from), second(to)}
}

// TestBlame: a row that stood in line from 10 to 100 waited for what kept its run
// closed while it was, and else for what it was told.
func TestBlame(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spans []Stretch
		want  string
	}{
		"nothing was closed":         {nil, "quota 90"},
		"a pause within":             {[]Stretch{span(WaitPaused, 20, 50)}, "quota 60, paused 30"},
		"before and after":           {[]Stretch{span(WaitPaused, 0, 10), span(WaitPaused, 100, 120)}, "quota 90"},
		"over all of it":             {[]Stretch{span(WaitWindow, 0, 200)}, "window 90"},
		"over its beginning":         {[]Stretch{span(WaitWindow, 0, 11)}, "quota 89, window 1"},
		"one that goes on":           {[]Stretch{span(WaitSpend, 40, -1)}, "quota 30, spend 60"},
		"one that was never":         {[]Stretch{span(WaitSpend, 40, 40), span(WaitSpend, 60, 50)}, "quota 90"},
		"the same twice":             {[]Stretch{span(WaitHealth, 20, 40), span(WaitHealth, 30, 50), span(WaitHealth, 50, 60)}, "quota 50, health 40"},
		"a person before a window":   {[]Stretch{span(WaitWindow, 20, 60), span(WaitPaused, 40, 80)}, "quota 30, window 20, paused 40"},
		"a person within a window":   {[]Stretch{span(WaitWindow, 10, 100), span(WaitPaused, 40, 50)}, "window 80, paused 10"},
		"a window within a person's": {[]Stretch{span(WaitWindow, 40, 50), span(WaitPaused, 10, -1)}, "paused 90"},
		"rests within a breaker":     {[]Stretch{span(WaitQuota, 20, 30), span(WaitErrors, 25, 40), span(WaitQuota, 35, 50)}, "quota 75, errors 15"},
		"no worker within a rest":    {[]Stretch{span(WaitQuota, 0, 100), span(WaitErrors, 20, 60), span(WaitQueue, 40, 80)}, "queue 40, quota 30, errors 20"},
		"no worker in a window":      {[]Stretch{span(WaitWindow, 0, 60), span(WaitQueue, 40, 80)}, "queue 20, quota 20, window 50"},
		"its own cause":              {[]Stretch{span(WaitQuota, 20, 30)}, "quota 90"},
	} {
		w := Waits{WaitQuota: 90 * time.Second, WaitTurn: 7 * time.Second}
		w.blame(WaitQuota, second(10), second(100), NewClosed(tc.spans))
		if w[WaitTurn] -= 7 * time.Second; waitText(w) != tc.want {
			t.Errorf("%s: waited %s; want %s", name, waitText(w), tc.want)
		}
	}
}

func waitText(w Waits) string {
	var parts []string
	for i, d := range w {
		if d != 0 {
			parts = append(parts, fmt.Sprintf("%s %v", WaitCause(i), d.Seconds()))
		}
	}
	return strings.Join(parts, ", ")
}

// TestBlameBySecond holds random spans against a count of each second by itself.
func TestBlameBySecond(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var spans []Stretch
		for range rng.IntN(12) {
			from := rng.IntN(60)
			spans = append(spans, span(WaitCause(rng.IntN(NumWaits)), from, []int{-1, from + rng.IntN(30), rng.IntN(60)}[rng.IntN(3)]))
		}
		told, from := WaitCause(rng.IntN(NumWaits)), rng.IntN(50)
		to := from + rng.IntN(50)
		got := Waits{}
		got[told] = second(to).Sub(second(from))
		got.blame(told, second(from), second(to), NewClosed(spans))
		var want Waits
		for s := from; s < to; s++ {
			want[secondOf(second(s), told, spans)] += time.Second
		}
		if got != want {
			t.Fatalf("seed %d: %v from %d to %d in %v waited %s; want %s", seed, told, from, to, spans, waitText(got), waitText(want))
		}
	}
}

// secondOf is what one second from s on was waited for.
func secondOf(s time.Time, told WaitCause, spans []Stretch) WaitCause {
	for _, c := range blamed {
		for _, x := range spans {
			if x.Cause == c && !s.Before(x.From) && (x.To.IsZero() || s.Before(x.To)) {
				return c
			}
		}
	}
	return told
}
