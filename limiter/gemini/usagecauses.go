package gemini

import (
	"cmp"
	"slices"
	"strings"

	"nightshift/limiter"
)

// RefusedBy are the limiter's refusals by the limit that bound and whose it was
// ("lane rpm", "tenant input_tpm", "class rpm": there was room, but not for the
// class), or by the reason where no limit did ("paused"); the most first. Those that
// went into a line (Queued) are among them.
func (s UsageSample) RefusedBy() []Count {
	return s.counts(tallyRefused, func(code int64) string {
		if code < reasonAt {
			return nameOf(tallyScopes, code/codesOf) + " " + nameOf(tallyLimits, code%codesOf)
		}
		if i := int(code - reasonAt - 1); i >= 0 && i < len(refusalReasons) {
			return string(refusalReasons[i])
		}
		return "to save money"
	})
}

// Otherwise is how many calls were refused for what calls of other classes had no part
// in (see limiter.Contested), and by what, in RefusedBy's words. What an older version
// counted is in the number alone.
func (s UsageSample) Otherwise() (n int64, by []Count) {
	own := s
	own.tallies.bins = slices.DeleteFunc(slices.Clone(s.tallies.bins), func(b bin) bool { return sharedCode(b.bucket - tallyRefused) })
	by = own.RefusedBy()
	if s.ProviderMoney > 0 {
		by = append(by, Count{"the provider, for money", s.ProviderMoney})
	}
	return s.Refused - s.ContestedHere() + s.ProviderMoney, by
}

// sharedCode tells of a code of RefusedBy whether the refusal is for quota that other
// classes may have taken. A limit that is no caller's is the project's; what a call that
// ran out of time waited for is not known.
func sharedCode(code int64) bool {
	if code >= reasonAt {
		i := int(code - reasonAt - 1)
		return i >= 0 && i < len(refusalReasons) && (refusalReasons[i] == limiter.ReasonDeadline || limiter.Contested(refusalReasons[i], "", ""))
	}
	scope := nameOf(tallyScopes, code/codesOf)
	if scope == "class" || scope == otherLabel {
		scope = ""
	}
	return limiter.Contested(limiter.ReasonQuota, nameOf(tallyLimits, code%codesOf), scope)
}

// RefusedThere are the provider's refusals by its reason: "rpm", "capacity".
func (s UsageSample) RefusedThere() []Count {
	return s.counts(tallyTheirs, func(code int64) string { return nameOf(tallyTheir, code) })
}

// Retried are the rows that had been dispatched to a worker and come again, by what
// sent them back: "own limiter", "provider 429", "provider 5xx", "no answer".
func (s UsageSample) Retried() []Count {
	return s.counts(tallyRetried, func(code int64) string { return nameOf(tallyRetry, code) })
}

// WaitedFor is for how many milliseconds callers waited in place, by what for.
func (s UsageSample) WaitedFor() []Count {
	return s.counts(tallyWaited, func(code int64) string { return nameOf(tallyWaits, code) })
}

// RowsWaitedFor is for how many milliseconds rows had waited that ended, by what for;
// RowsEnded is how many of them there are.
func (s UsageSample) RowsWaitedFor() []Count {
	return s.counts(tallyRows, func(code int64) string { return nameOf(tallyWaits, code) })
}

// RowsEnded are the rows that RowsWaitedFor is of.
func (s UsageSample) RowsEnded() int64 {
	return sumCounts(s.counts(tallyEnded, func(int64) string { return "" }))
}

// counts gives the tallies of one kind, which begin at a code.
func (s UsageSample) counts(begin int64, name func(code int64) string) []Count {
	sums := map[string]int64{}
	for _, b := range s.tallies.bins {
		if b.bucket >= begin && b.bucket < begin+1000 {
			sums[name(b.bucket-begin)] += b.n
		}
	}
	out := make([]Count, 0, len(sums))
	for name, n := range sums {
		out = append(out, Count{name, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name)) })
	return out
}

// nameOf is "other" for what a newer version counted.
func nameOf(list []string, code int64) string {
	if code < 0 || code >= int64(len(list)) {
		return otherLabel
	}
	return list[code]
}
