package cli

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// waitedRows is the night's run of which rows have ended, each after waits of its own; all
// is how long, by cause, as their results say.
func waitedRows(t *testing.T) (s *steered, all map[string]int64) {
	t.Helper()
	s, all = newSteered(t), map[string]int64{}
	done := s.be.countRowWaits("worker")
	for i, cause := range jobs.WaitCauses() {
		task := jobs.Task{Run: s.run.ID, Index: int64(i)}
		_, err := s.be.store.Begin(s.Context(), task)
		s.check(err)
		r := jobs.Result{Row: fmt.Sprintf("r%d", i), Status: "done", Key: "k", WaitsMS: map[string]int64{cause: int64(1000 * (i + 1)), "quota": int64(60_001 + i)}}
		for c, ms := range r.WaitsMS {
			all[c] += ms
			r.WaitedMS += ms
		}
		_, err = s.be.store.Finish(s.Context(), task, r)
		s.check(err)
	}
	done()
	return s, all
}

// TestHistoryOfRowsWaits: what rows had waited stands in the history by cause, in the
// table of numbers, on the page and in the terminal, and adds up to their results' waits.
func TestHistoryOfRowsWaits(t *testing.T) {
	t.Parallel()
	s, want := waitedRows(t)
	ask := historyOptions{factory: s.f.as("csv"), From: "10m", By: "feature", Unit: "rows_waited_ms", Top: 10}
	q, err := ask.query()
	s.check(err)
	q.To = q.To.Add(time.Minute) // Redis's clock may be ahead
	d, err := gemini.NewHistory(s.be.rdb, s.be.conf.scope()).Read(t.Context(), q)
	s.check(err)
	var waited int64
	s.check(s.be.store.Results(t.Context(), s.run.ID, jobs.ResultsOptions{}, func(r jobs.Result) error {
		waited += r.WaitedMS
		return nil
	}))
	if got := d.Total.Sum.Amount("rows_waited_ms"); got != waited || waited == 0 || d.Total.Sum.RowsEnded() != int64(len(jobs.WaitCauses())) {
		t.Errorf("%d rows waited %d ms; their results say %d", d.Total.Sum.RowsEnded(), got, waited)
	}
	var out strings.Builder
	s.check(ask.view(d).csv(&out, d))
	if got := csvWaits(t, out.String()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the CSV has %v, want %v", got, want)
	}
	chart := strings.Join(rowsChart(d, s.f.now()), "\n")
	for _, cause := range jobs.WaitCauses() {
		if rowWaitMarks[cause] == "" || !strings.Contains(chart, rowWaitMark(cause)+" "+cause+" ") {
			t.Errorf("the chart does not say %s\n%s", cause, chart)
		}
	}
	for _, line := range strings.Split(chart, "\n") {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("%d wide: %s", n, line)
		}
	}
}

// csvWaits adds up the columns of rows' waits.
func csvWaits(t *testing.T, text string) map[string]int64 {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for i, column := range lines[0] {
		cause, ours := strings.CutPrefix(column, "rows_waited_")
		cause, ok := strings.CutSuffix(cause, "_ms")
		if !ours || !ok {
			continue
		}
		for _, line := range lines[1:] {
			n, err := strconv.ParseInt(line[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[cause] += n
		}
	}
	return sums
}

// TestDashboardRowsWaits: the page draws it, one line for each cause.
func TestDashboardRowsWaits(t *testing.T) {
	t.Parallel()
	s, _ := waitedRows(t)
	s.be.conf.Dashboard.Token = operates
	d := s.be.testDashboard(t, &dashboardNow{backend: s.be})
	says(t, visit(t, d, operates, "/history?from=15m", nil), http.StatusOK, "What rows waited for", "9 rows ended, which had waited", "of it for: quota.", "Rows that ended had waited, for")
	says(t, visit(t, d, operates, "/history?from=15m&by=tenant", nil), http.StatusOK, "What rows waited is kept by feature, model and class, not by tenant.")
}

// TestRowBars: a bar is as long as what it is of, and stacked in the order of all.
func TestRowBars(t *testing.T) {
	t.Parallel()
	all := []gemini.Count{{Name: "quota", N: 60}, {Name: "turn", N: 30}, {Name: "paused", N: 10}}
	for want, waits := range map[string][]gemini.Count{
		strings.Repeat("q", rowBarWidth):                            {{Name: "quota", N: 92}},
		strings.Repeat("q", rowBarWidth/2):                          {{Name: "quota", N: 46}},
		strings.Repeat("q", rowBarWidth/2) + strings.Repeat("t", 2): {{Name: "turn", N: 4}, {Name: "quota", N: 46}},
		"":                                       {},
		strings.Repeat("t", rowBarWidth-1) + "p": {{Name: "turn", N: 90}, {Name: "paused", N: 2}},
	} {
		if got := rowBar(all, waits, 92); got != want {
			t.Errorf("%v: %q, want %q", waits, got, want)
		}
	}
}
