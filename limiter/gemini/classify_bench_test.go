package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// fiveKB is a quota refusal as long as they get: 16 violations, their help
// links, a hint, and the same once more in the message.
func fiveKB() []byte {
	violation := func(i int) string {
		return fmt.Sprintf(`{"quotaMetric":"generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",`+
			`"quotaId":"GenerateContentPaidTierInputTokensPerModelPerMinute","quotaDimensions":{"location":"global","model":"gemini-%d-pro"},"quotaValue":"1000000"}`, i)
	}
	var list []string
	for i := range 16 {
		list = append(list, violation(i))
	}
	message := strings.Repeat(`\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count, limit: 1000000, model: gemini-3.1-pro\nPlease retry in 45.811974541s. `, 6)
	return []byte(`{"error":{"code":429,"message":"You exceeded your current quota.` + message + `","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + strings.Join(list, ",") + `]},` +
		`{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Learn more about Gemini API quotas","url":"https://ai.google.dev/gemini-api/docs/rate-limits"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"45s"}]}}`)
}

// BenchmarkClassify holds the classification of a 5 kB body against the time
// that encoding/json takes to unmarshal it.
//
//	go test ./limiter/gemini -run '^$' -bench Classify
func BenchmarkClassify(b *testing.B) {
	body := fiveKB()
	b.SetBytes(int64(len(body)))
	var ours, theirs []time.Duration
	for b.Loop() {
		begin := time.Now()
		Classify(Answer{Status: http.StatusTooManyRequests, Body: body}, noon)
		ours = append(ours, time.Since(begin))
		begin = time.Now() // they take turns, so that a busy machine slows both
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(begin))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours).Seconds()*1e6, "µs/classify")
	b.ReportMetric(median(theirs).Seconds()*1e6, "µs/unmarshal")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "of-unmarshal")
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
