package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// hourOfUse is an answer of four steps, of which the last is still to come.
func hourOfUse() *gemini.HistoryData {
	series := func(name string, ns ...int64) gemini.HistorySeries {
		s := gemini.HistorySeries{Name: name}
		for i, n := range ns {
			p := gemini.UsageSample{At: at(7, 15*i), Requests: n, Calls: n}
			s.Points = append(s.Points, p)
			s.Sum.Merge(p)
		}
		return s
	}
	return &gemini.HistoryData{From: at(7, 0), To: at(8, 0), Step: 15 * time.Minute, N: 4, Known: at(7, 45),
		Groups: []gemini.HistorySeries{series("=tags", 150, 300, 0, 0), series("", 0, 0, 15, 0)}, Total: series("", 150, 300, 15, 0)}
}

// TestHistoryView: rates are by the minute, and what is still to come is no silence.
func TestHistoryView(t *testing.T) {
	t.Parallel()
	o := &historyOptions{By: "tenant", Unit: "rpm"}
	v := o.view(hourOfUse())
	g := v.Groups[0]
	if g.Sum != 450 || g.Peak != 20 || !g.PeakAt.Equal(at(7, 15)) || g.Avg != 10 || len(g.Points) != 3 {
		t.Errorf("%+v", g)
	}
	var out strings.Builder
	v.print(&out, hourOfUse(), at(7, 45))
	for _, want := range []string{"requests a minute", "=tags", "(none)", "96.8 %", "nightshift quota who --from"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
			t.Errorf("%d wide: %s", n, line)
		}
	}
}

// TestHistoryOfNothing: what there was none of has no chart, whose axis would be of millionths.
func TestHistoryOfNothing(t *testing.T) {
	t.Parallel()
	v := (&historyOptions{By: "tenant", Unit: "cache_saved_usd"}).view(hourOfUse())
	if got := v.chart(); got != "Nothing of it in this time." {
		t.Errorf("%s", got)
	}
}

// TestHistoryCSV has a line for each step and group that has anything; a name is no formula.
func TestHistoryCSV(t *testing.T) {
	t.Parallel()
	o := &historyOptions{By: "tenant", Unit: "rpm"}
	var out strings.Builder
	if err := o.view(hourOfUse()).csv(&out, hourOfUse()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "time,tenant,requests,input_tokens,") || !strings.Contains(lines[1], ",'=tags,150,") {
		t.Errorf("%s", out.String())
	}
	if n := strings.Count(lines[0], ","); n != strings.Count(lines[1], ",") {
		t.Errorf("%s", out.String())
	}
}

// TestHistoryQuery refuses what cannot be answered, naming the flag.
func TestHistoryQuery(t *testing.T) {
	t.Parallel()
	good := historyOptions{From: "1h", By: "feature", Unit: "rpm", Top: 10}
	for want, change := range map[string]func(*historyOptions){
		"--by":                func(o *historyOptions) { o.By = "colour" },
		"--unit":              func(o *historyOptions) { o.Unit = "rps" },
		"--output":            func(o *historyOptions) { o.opts.output = "xml" },
		"--top 0":             func(o *historyOptions) { o.Top = 0 },
		"--step 7s":           func(o *historyOptions) { o.Step = 7 * time.Second },
		"seven days":          func(o *historyOptions) { o.From = "200h" },
		"by tenant":           func(o *historyOptions) { o.Tenant = "acme" },
		"--step 10s: that is": func(o *historyOptions) { o.From, o.Step = "160h", 10*time.Second },
	} {
		o := good
		o.factory = &factory{now: func() time.Time { return at(9, 0) }}
		o.opts.output = "table"
		change(&o)
		_, err := o.query()
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), strings.TrimSuffix(want, " that is")) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestOverlapHelp names a command for whoever it was.
func TestOverlapHelp(t *testing.T) {
	t.Parallel()
	classes := (&Config{}).classTable()
	for class, want := range map[string]string{"bulk": "nightshift pause bulk --until 30m", "interactive": "nightshift quota set"} {
		o := &gemini.Overlap{Rows: []gemini.WhoRow{{Name: "tags", Class: class}}}
		if got := overlapHelp(o, classes); !strings.Contains(got, want) {
			t.Errorf("%s: %s", class, got)
		}
	}
}
