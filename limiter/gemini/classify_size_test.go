package gemini

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// nasty are bodies that make careless parsers slow, of about n bytes.
var nasty = map[string]func(n int) string{
	"open objects":      repeated(`{"a":[`),
	"open, then shut":   func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("}", n/2) },
	"open, shut, mixed": func(n int) string { return strings.Repeat(`{"a":[`, n/8) + strings.Repeat("}", n/4) },
	"begun strings":     repeated(`"a`),
	"escaped quotes":    repeated(`\"`),
	"backslashes":       repeated(`\`),
	"apostrophes":       repeated("'"),
	"quota words":       repeated("limit: 0 "),
	"hints":             repeated("retry in 1s "),
	"messages":          repeated(`"message":"{`),
	"commas":            repeated(",{}"),
	"many details": func(n int) string {
		return details(n, `{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaDimensions":{"model":"m%d"},"quotaValue":"10"}`)
	},
	"one string":           func(n int) string { return `{"error":{"code":429,"message":"` + strings.Repeat("x", n) + `"}}` },
	"JSON in JSON":         nested,
	"words without an end": func(n int) string { return strings.Repeat("x", n) },
}

func repeated(unit string) func(int) string {
	return func(n int) string { return strings.Repeat(unit, n/len(unit)) }
}

func details(n int, format string) string {
	var b strings.Builder
	b.WriteString(`{"error":{"code":429,"details":[{"violations":[`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, format+",", i)
	}
	return b.String() + `{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"20"}]},{"retryDelay":"36s"}]}}`
}

// nested is JSON in strings of JSON: each level doubles the quotes' backslashes.
func nested(n int) string {
	body := `{"error":{"message":"` + strings.Repeat("x", n/4) + `"}}`
	for range 6 {
		body = fmt.Sprintf(`{"error":{"message":%q}}`, body)
	}
	return body + strings.Repeat(" ", max(0, n-len(body)))
}

// TestWorkIsLinear counts the bytes that are taken apart, over all levels of
// nesting: ten times the body is ten times the work, and never more than a few
// looks at each byte.
func TestWorkIsLinear(t *testing.T) {
	small, large := 50<<10, 500<<10
	for name, body := range nasty {
		a := gather(Answer{Status: http.StatusTooManyRequests, Body: []byte(body(small))}, noon)
		b := gather(Answer{Status: http.StatusTooManyRequests, Body: []byte(body(large))}, noon)
		if most := (shredDepth + 2) * large; b.looked > most || b.looked > 11*max(a.looked, small) {
			t.Errorf("%s: %d looks at %d bytes, %d at %d", name, a.looked, small, b.looked, large)
		}
	}
}

// TestTenMegabytes: what decides is found wherever it stands in a body of any size.
func TestTenMegabytes(t *testing.T) {
	const n = 10 << 20
	tail := `","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"20"}]},{"retryDelay":"36s"}]}}`
	for name, body := range map[string]string{
		"behind one string":   `{"error":{"code":429,"message":"` + strings.Repeat(`a\"`, n/3) + tail,
		"behind many details": nasty["many details"](n / 5),
		"before the end":      `{"error":{"code":429,"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"20"}]}],"message":"` + strings.Repeat("b ", n/10),
	} {
		if v := Classify(Answer{Status: http.StatusTooManyRequests, Body: []byte(body)}, noon); v.Kind != DailyReset || v.Limit != 20 || len(v.Evidence) > mostNotes+3 {
			t.Errorf("%s: %s %s %d, %d notes", name, v.Kind, v.Reason, v.Limit, len(v.Evidence))
		}
	}
}

// BenchmarkClassifyGrowth prints how much longer 10 MB take than 1 MB.
//
//	go test ./limiter/gemini -run '^$' -bench ClassifyGrowth -benchtime 1x
func BenchmarkClassifyGrowth(b *testing.B) {
	var one, ten, slowest time.Duration
	for b.Loop() {
		for name, body := range nasty {
			small, large := classifyTime(body(1<<20)), classifyTime(body(10<<20))
			b.Logf("%-20s 1 MB %7s  10 MB %7s", name, small.Round(time.Millisecond), large.Round(time.Millisecond))
			one, ten, slowest = one+small, ten+large, max(slowest, large)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(slowest.Seconds()*1000, "ms/slowest-10MB")
	b.ReportMetric(float64(ten)/float64(one), "x-of-1MB")
}

// classifyTime is the least of three.
func classifyTime(body string) time.Duration {
	least := time.Hour
	for range 3 {
		begin := time.Now()
		Classify(Answer{Status: http.StatusTooManyRequests, Body: []byte(body)}, noon)
		least = min(least, time.Since(begin))
	}
	return least
}
