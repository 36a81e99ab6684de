package cli

import (
	"strings"
	"testing"
	"time"
)

// TestPlanWaysOfAWiderWindow: a window that opens after the deadline, or closes too early,
// is a reason that one can change; one that leaves enough as it is, or never opens, is not.
func TestPlanWaysOfAWiderWindow(t *testing.T) {
	t.Parallel()
	day := func(hour, minute int) time.Time { return time.Date(2026, 11, 30, hour, minute, 0, 0, time.UTC) }
	local := func(at time.Time) string { return at.Local().Format("15:04 MST") }
	for _, c := range []struct {
		name, window  string
		now, deadline time.Time
		rows          int64
		want          string // "": none
	}{
		{"opens after the deadline", "22:00-03:00@100%, else @0%", day(3, 19), day(7, 0), 600*60 - 300, "open the window now, until " + local(day(4, 19))},
		{"closes too early", "22:00-03:00@100%, else @0%", day(1, 0), day(7, 0), 600*60*3 - 300, "close the window 1h00m later, at " + local(day(4, 0))},
		{"less is left later", "22:00-03:00@100%, else @10%", day(1, 0), day(7, 0), 600*60*3 - 1200, "close the window 38m00s later, at " + local(day(3, 38))},
		{"too much for any window", "22:00-03:00@100%, else @0%", day(3, 19), day(7, 0), 600 * 60 * 9, ""},
		{"never opens", "22:00-23:00@0%, else @0%", day(3, 19), day(7, 0), 100, ""},
		{"always open", "00:00-24:00@100%", day(3, 19), day(7, 0), 600 * 60 * 9, ""},
	} {
		p := prospectOf(c.now, c.rows, window(t, c.window))
		w, ok := p.widened(c.deadline, "m")
		if w.What != c.want || ok != (c.want != "") || ok && w.Done.After(c.deadline) {
			t.Errorf("%s: %+v, want %q", c.name, w, c.want)
		}
		var all []string
		for _, w := range p.ways(c.deadline, "m") {
			all = append(all, w.What)
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%s: not among %q", c.name, all)
		}
	}
}
