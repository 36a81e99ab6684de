package cli

import (
	"strings"
	"testing"
	"time"
)

// TestReportAverageIsNotAboveItsPeak: another run used the rest of the last minute.
func TestReportAverageIsNotAboveItsPeak(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 15, 16, 0, 0, time.UTC)
	q := reportQuota{StepMS: 60_000, Points: []reportPoint{{At: at, Bulk: 0.3}, {At: at.Add(time.Minute), Bulk: 0.8}, {At: at.Add(2 * time.Minute), Bulk: 0.8}}}
	q.sum(reviewInput{from: at.Add(30 * time.Second), to: at.Add(2*time.Minute + 15*time.Second)})
	want := (0.3*30 + 0.8*60 + 0.8*15) / 105
	if q.Peak != 0.8 || q.Average < want-1e-9 || q.Average > want+1e-9 {
		t.Errorf("average %v, peak %v, want an average of %v", q.Average, q.Peak, want)
	}
}

// TestReportOfDroppedRows: what rows took that are in the run no longer is not divided
// by those that are.
func TestReportOfDroppedRows(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "| A ROW |") || strings.Contains(out, "--update") {
		t.Error(out)
	}
	r.Run.Dropped, r.Rows, r.Good, r.Bad = 9801, 199, 199, 0
	out := rendered(t, r, "markdown")
	for _, want := range []string{"199 rows (9,801 more left it by --update)", "The calls of 9,801 rows that left it by --update are in this", "9,801 rows that left it by --update waited too"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "A ROW") {
		t.Error(out)
	}
}
