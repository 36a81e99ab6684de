package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// naive is the rule that most clients have: a RetryInfo or a minute's quota means
// again, a day's, a month's or a project's means never, else nobody knows.
func naive(text string) string {
	switch {
	case strings.Contains(text, "RetryInfo"), strings.Contains(text, "retryDelay"), strings.Contains(text, "PerMinute"):
		return "retry"
	case strings.Contains(text, "PerDay"), strings.Contains(text, "monthly"), strings.Contains(strings.ToLower(text), "project"):
		return "stop"
	}
	return "unknown"
}

// naiveDetails is the same over what an SDK gives: the details of an error that is
// an object with a numeric code.
func naiveDetails(body []byte) string {
	var e struct {
		Error struct {
			Code    int
			Details json.RawMessage
		}
	}
	if json.Unmarshal(body, &e) != nil {
		return naive("")
	}
	return naive(string(e.Error.Details))
}

// coarse is a kind in the naive rule's words.
func coarse(k Kind) string {
	switch k {
	case Wait, Backoff:
		return "retry"
	case DailyReset, BudgetStop, Permanent:
		return "stop"
	}
	return "unknown"
}

// TestBesideTheNaiveRule prints both for each sample, with who is right.
//
//	go test ./limiter/gemini -run TestBesideTheNaiveRule -v
func TestBesideTheNaiveRule(t *testing.T) {
	all := samples(t)
	var n, quotas int
	right := map[string]int{}
	t.Logf("%-55s %-28s %-28s %8s  %-8s %s", "sample", "expected", "ours", "after", "naive", "naive over the SDK's details")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		a := s.answer()
		v := Classify(a, noon)
		text, details := naive(string(a.Body)), naiveDetails(a.Body)
		ours := v.Kind == s.Verdict && v.Scope == s.Scope && (s.Seconds == nil || *s.Seconds == v.RetryAfter.Seconds())
		for of, ok := range map[string]bool{"ours": ours, "naive": text == coarse(s.Verdict), "details": details == coarse(s.Verdict)} {
			if ok {
				right[of]++
				if quotaStatus(s.Status) {
					right[of+" quota"]++
				}
			}
		}
		n++
		if quotaStatus(s.Status) {
			quotas++
		}
		t.Logf("%-55s %-28s %-28s %8s  %-8s %s", strings.TrimSuffix(name, ".json"), fmt.Sprint(s.Verdict, " ", s.Scope), fmt.Sprint(v.Kind, " ", v.Scope), v.RetryAfter, text, details)
	}
	t.Logf("right of %d samples: ours %d; naive rule %d by text, %d by the SDK's details", n, right["ours"], right["naive"], right["details"])
	t.Logf("right of the %d with status 429 or 402: ours %d; naive rule %d by text, %d by the SDK's details", quotas, right["ours quota"], right["naive quota"], right["details quota"])
	if right["ours"] != n || right["naive"] >= n {
		t.Errorf("%v of %d", right, n)
	}
}

func quotaStatus(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusPaymentRequired
}
