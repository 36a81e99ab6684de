package cli

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// pagesBar is how many times as long a large fleet's page may take as a small one's.
const pagesBar = 2.0

// BenchmarkPages asks for every page of the dashboard, each anew, in a fleet of 100 lanes,
// 1,000 tenants and PAGE_ROWS waiting rows (default 100,000), and in one of ten of each:
// the median of each in ms, and times what the small one takes. A historian keeps the use
// of both as the scheduler's does, and the dashboard looks beside its pages at what takes
// long, as one that is started does; nobody has looked at a page just before:
//
//	PAGE_ROWS=1000000 go test ./cmd/internal/cli -run '^$' -bench '^BenchmarkPages$' -benchtime 1x -timeout 60m
func BenchmarkPages(b *testing.B) {
	rows, _ := strconv.Atoi(orElse(os.Getenv("PAGE_ROWS"), "100000"))
	for b.Loop() {
		few, many := newPageRig(b, 10, 10, 10), newPageRig(b, rows, 100, 1000)
		few.pack()
		many.pack()
		for _, path := range []string{"/", "/history", "/history?from=48h", "/runs", "/runs/night", "/who", "/who?from=24h", "/tenants", "/tenants/t0003"} {
			// by turns, so that both meet the machine's other work
			took := [2][]time.Duration{}
			for n := range 15 {
				for i, r := range []*pageRig{few, many} {
					took[i] = append(took[i], r.visit(path, n))
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			small, large := took[0][7], took[1][7]
			b.Logf("%-18s %6.1f ms, %5.1f ms with ten of each: %.2f × (bar %.0f ×)", path, ms(large), ms(small), float64(large)/float64(small), pagesBar)
			name := strings.NewReplacer("?from=", "-from-").Replace(path)
			b.ReportMetric(ms(large), name+"-ms")
			b.ReportMetric(float64(large)/float64(small), name+"-×small")
		}
		few.stop()
		many.stop()
	}
	b.ReportMetric(0, "ns/op")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pageRig is a dashboard over rows that all wait.
type pageRig struct {
	*waitRig
	d    *dashboard.Dashboard
	now  *dashboardNow
	made *gemini.Historian
}

func newPageRig(b *testing.B, rows, lanes, tenants int) *pageRig {
	b.Helper()
	limits := "nodes: {tenant/*: {rpm: 10}}\nmodels:\n  gemini-2.5-flash: {rpm: 1000}\n"
	for i := range lanes - 1 {
		limits += fmt.Sprintf("  model-%03d: {rpm: 60, input_tpm: 1000000}\n", i)
	}
	w := newWaitRigOf(b, rows, limits)
	b.Logf("%d rows wait, %.0f enqueued a second", rows, w.enqueued)
	conf, err := w.be.lim.Lanes(b.Context())
	w.must(err)
	w.be.callsOf(b, slices.DeleteFunc(conf, func(l limiter.LaneConfig) bool { return l.Lane.Model == "gemini-2.5-flash" }), tenants)
	manyTenants(b, w.be, tenants)
	w.be.conf.Dashboard.Token, w.be.conf.Dashboard.ViewToken = "a-token-that-operates", "a-token-that-looks"
	r := &pageRig{waitRig: w, now: &dashboardNow{backend: w.be}}
	r.made = gemini.NewHistorian(w.be.rdb, w.be.conf.scope(), gemini.HistorianOptions{Lanes: w.be.lim})
	r.d = w.be.testDashboard(b, r.now)
	r.now.keep(b.Context())
	return r
}

// pack has the history take what was counted until now: steps of ten seconds that are over.
func (r *pageRig) pack() {
	r.Helper()
	<-time.After(time.Until(time.Now().Truncate(10 * time.Second).Add(10 * time.Second)))
	r.must(r.made.Step(r.Context()))
}

// visit gives how long a page takes when nobody looked just before.
func (r *pageRig) visit(path string, n int) time.Duration {
	r.Helper()
	r.beat()
	r.must(r.made.Step(r.Context())) // more often than each ten seconds: none is due unseen
	r.now.stale()
	if strings.Contains(path, "?") {
		path += "&x="
	} else {
		path += "?x="
	}
	start := time.Now()
	if w := visit(r.B, r.d, "a-token-that-looks", path+strconv.Itoa(n), nil); w.Code != http.StatusOK {
		r.Fatalf("%s: %s", path, pageWords(w))
	}
	return time.Since(start)
}
