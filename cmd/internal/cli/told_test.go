package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestReadersClock: moments in what is kept are told by the reader's clock, with its zone;
// what was noticed later stands where it happened, and says when it was seen.
func TestReadersClock(t *testing.T) {
	defer func(was *time.Location) { time.Local = was }(time.Local)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	time.Local = berlin
	at := time.Date(2026, 11, 30, 22, 30, 0, 0, time.UTC)
	breaker := limiter.BreakerState{Scope: limiter.BreakProject, Detail: "the monthly cap is reached", Until: at.Add(10 * time.Hour), Next: at.Add(20 * time.Minute)}
	list := byHappening([]limiter.Event{
		{At: at, Kind: limiter.EventAlert, Text: breaker.String()},
		{At: at.Add(8 * time.Hour), Kind: "run", Text: "run tags has ended", Data: map[string]string{limiter.DataHappened: at.Add(-time.Hour).Format(time.RFC3339Nano)}},
	})
	var out bytes.Buffer
	eventTable(list, at.Add(9*time.Hour)).render(&out)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"", "Mon 22:30 CET  run    run tags has ended (seen Tue 1 Dec 07:30 CET)", "Mon 23:30 CET  alert  all calls to the provider's project are held back: the monthly cap is reached; until Tue 1 Dec 09:30 CET, one call looks again at 23:50 CET"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
}
