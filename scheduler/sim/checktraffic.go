package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

func (s *Scenario) checkTraffic() error {
	for i := range s.Traffic {
		t, at := &s.Traffic[i], fmt.Sprintf("traffic[%d]", i)
		t.Class, t.Name = cmp.Or(t.Class, "interactive"), cmp.Or(t.Name, "people")
		if err := classOK(at+".class", t.Class); err != nil {
			return err
		}
		if c := s.classes()[s.classIndex(t.Class)]; c.Tickets {
			return wrong(at+".class", "%s can wait: its rows go under bulk", t.Class)
		}
		if err := t.Arrivals.check(at + ".arrivals"); err != nil {
			return err
		}
		if err := t.checkSize(at, Size{Tokens{Median: 800, Sigma: 0.5}, Tokens{Median: 150, Sigma: 0.5}}); err != nil {
			return err
		}
		if n := t.Arrivals.most() * s.Duration.Minutes(); n > mostCalls {
			return wrong(at+".arrivals", "that is up to %.0f calls; want at most %d", n, mostCalls)
		}
	}
	return nil
}

func (a Arrivals) check(at string) error {
	if a.RPM < 0 || math.IsNaN(a.RPM) {
		return wrong(at+".rpm", "%v; want calls a minute", a.RPM)
	}
	if a.RPM == 0 && len(a.Hours) == 0 && len(a.Spikes) == 0 && a.Replay == "" {
		return wrong(at, "nobody comes; give it rpm, hours, spikes or replay")
	}
	given := map[time.Duration]string{}
	for _, text := range slices.Sorted(maps.Keys(a.Hours)) {
		c, err := clockOf(text)
		if err != nil || !(a.Hours[text] >= 0) {
			return wrong(at+".hours", "%q: %v; want a time of day and calls a minute, as in \"08:30\": 140", text, a.Hours[text])
		}
		if other, twice := given[c]; twice {
			return wrong(at+".hours", "%q and %q are the same time of day", other, text)
		}
		given[c] = text
	}
	for i, k := range a.Spikes {
		at := fmt.Sprintf("%s.spikes[%d]", at, i)
		if _, err := clockOf(k.From); err != nil {
			return wrong(at+".from", "%q; want a time of day, as in \"08:30\"", k.From)
		}
		if _, err := clockOf(k.Until); err != nil && k.Until != "" {
			return wrong(at+".until", "%q; want a time of day, as in \"08:30\"", k.Until)
		}
		if k.For <= 0 || !(k.RPM > 0) || k.Every < 0 || k.Every > 0 && k.Every < k.For {
			return wrong(at, "want rpm above zero, for how long (for: 1m), and every longer than that where it comes again")
		}
		if k.Every > 0 && k.Until == "" {
			return wrong(at+".until", "want a time of day until which it comes again")
		}
	}
	return nil
}

func (z *Size) checkSize(at string, usual Size) error {
	z.Input, z.Output = cmp.Or(z.Input, usual.Input), cmp.Or(z.Output, usual.Output)
	names := []string{"input_tokens", "output_tokens"}
	for i, t := range []Tokens{z.Input, z.Output} {
		if t.Median < 1 || t.Median > mostTokens || !sigmaOK(t.Sigma) || t.Most < 0 || t.Most > 0 && t.Most < t.Median {
			return wrong(at+"."+names[i], "want median from 1 to %d, sigma from 0 to 3, and most, if any, not below the median", mostTokens)
		}
	}
	return nil
}
