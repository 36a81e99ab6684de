package cli

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// week is seven days in hours: the chat with a morning of 14 %, bulk at work from
// 22 to 6 o'clock with 80 % of 1,000 rpm. Of every hundred calls of bulk seven had
// more input than was charged.
func week() reviewInput {
	in := reviewInput{
		from: at(0, 0).AddDate(0, 0, -7), to: at(0, 0),
		lanes: []limiter.LaneConfig{{
			Lane:   limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"},
			Limits: limiter.Limits{RPM: 1000, InputTPM: 1_000_000, USDPerDay: 100_000_000}, OutsidePPM: 50_000,
		}},
		classes: []limiter.Class{
			{Name: "interactive", GuaranteePPM: 300_000},
			{Name: "agent", GuaranteePPM: 100_000, Smooth: true},
			{Name: "bulk", Pausable: true, Smooth: true, Tickets: true},
		},
	}
	for h := range 7 * 24 {
		t := in.from.Add(time.Duration(h) * time.Hour)
		chat := gemini.UsageSample{At: t, Model: "m", Region: "global", Class: "interactive", Feature: "chat", Sent: 600, Requests: 600,
			InputTokens: 60_000, Measured: 600, EstimatedInput: 66_000, MeasuredInput: 60_000, EstimatedOutput: 300, MeasuredOutput: 100}
		if t.Local().Hour() == 9 {
			chat.Requests, chat.Sent = 8400, 8400
		}
		in.hours = append(in.hours, chat)
		if hour := t.Local().Hour(); hour >= 22 || hour < 6 {
			in.hours = append(in.hours, gemini.UsageSample{At: t, Model: "m", Region: "global", Class: "bulk", Feature: "tags",
				Sent: 48_000, Requests: 48_000, InputTokens: 480_000, Measured: 100, EstimatedInput: 100, MeasuredInput: 100, UnderInput: 7})
		}
	}
	return in
}

// TestReview: a week's review finds the reserve that was never needed, what was
// stranded while bulk worked, and the estimates that are too low.
func TestReview(t *testing.T) {
	t.Parallel()
	r := newReview(week())
	rpm := r.Limits[0]
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.0005 }
	// 81 % are used with the chat's 1 %; 5 % are outside; of floors of 10 % and 2 %
	// the chat uses 1 %.
	if !rpm.Binds || r.Limits[1].Binds || !near(rpm.Used, 0.81) || !near(rpm.Outside, 0.05) || !near(rpm.Reserved, 0.11) || !near(rpm.Rest, 0.03) {
		t.Errorf("rpm %+v", rpm)
	}
	// Each night's first and last hour may be worked in part only, as the first and
	// the last hour of all: six nights of six hours, and four of the first.
	if got := time.Duration(rpm.AtWorkMS) * time.Millisecond; got != 40*time.Hour {
		t.Errorf("at work for %s", got)
	}
	if chat := r.Reserves[0]; !near(chat.Peak, 0.14) || !near(chat.Enough, 0.20) || !near(chat.Floor, 0.10) {
		t.Errorf("chat %+v", chat)
	}
	for i, e := range []struct{ feature, want string }{{"chat", "+10.0 %"}, {"tags", "+0.0 %"}} {
		if got := r.Estimates[i]; got.Feature != e.feature || signed(got.InputError) != e.want {
			t.Errorf("estimates %+v", got)
		}
	}
	var texts []string
	for _, a := range r.Advice {
		texts = append(texts, a.Text+": "+a.Command)
	}
	for _, want := range []string{
		"interactive peaks at 14 % of rpm (m, ",
		"): a guarantee of 20 % would have been enough, it is 30 %: nightshift quota set class/interactive guarantee=20%",
		"nobody called as agent: its guarantee of 10 % was never needed: nightshift quota set class/agent guarantee=0%",
		"7.0 % of tags's calls took more than they were charged for",
		"chat holds more output than it uses (+200.0 %)",
	} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no advice %q in\n%s", want, strings.Join(texts, "\n"))
		}
	}
}

// TestReviewWarns: what hurts somebody is said, and reserves are not given away
// for less than a day.
func TestReviewWarns(t *testing.T) {
	t.Parallel()
	in := week()
	for i := range in.hours {
		in.hours[i].Provider429 = in.hours[i].Sent / 500
		if in.hours[i].Class == "interactive" {
			in.hours[i].Requests, in.hours[i].Refused = 60*310, 3
		}
	}
	var texts []string
	for _, a := range newReview(in).Advice {
		texts = append(texts, a.Level+" "+a.Text+": "+a.Command)
	}
	for _, want := range []string{
		"warn the provider refused 0.2 % of the calls to m that we had admitted",
		"nightshift quota set m outside=10%",
		"was refused 504 times: its guarantee is 30 %: nightshift quota set class/interactive guarantee=40%",
	} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no advice %q in\n%s", want, strings.Join(texts, "\n"))
		}
	}
	for i := range in.hours {
		in.hours[i].OwnLimit = in.hours[i].Refused
	}
	for _, a := range newReview(in).Advice {
		if strings.Contains(a.Text, "was refused") {
			t.Errorf("refused by limits of their own keys alone: %q", a.Text)
		}
	}
	in = week()
	in.hours = in.hours[len(in.hours)-10:]
	for _, a := range newReview(in).Advice {
		if strings.Contains(a.Command, "guarantee") || strings.Contains(a.Command, "outside") {
			t.Errorf("ten hours advise %q", a.Command)
		}
	}
}

// TestReviewOutput: output that is held and that no limit counts keeps nobody out.
func TestReviewOutput(t *testing.T) {
	t.Parallel()
	in := week()
	in.lanes[0].Limits.USDPerDay = 0
	for _, a := range newReview(in).Advice {
		if strings.Contains(a.Text, "maxOutputTokens") {
			t.Errorf("advice %q", a.Text)
		}
	}
	for share, want := range map[float64]string{0.102: "+10.2 %", -0.05: "-5.0 %", 2818.4: "2,819 x"} {
		if got := signed(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
}

// TestReviewPeaks: a minute that only a scheduler remembers counts, if it was of
// this class and lane.
func TestReviewPeaks(t *testing.T) {
	t.Parallel()
	in := week()
	peak := scheduler.HourPeak{At: at(3, 0), Region: "global", Model: "m", Class: "interactive", Peak: limiter.Amounts{220}}
	others := []scheduler.HourPeak{peak, peak}
	others[0].Model, others[1].Class = "other", "bulk"
	in.peaks = others
	if got := newReview(in).Reserves[0].Peak; got != 0.14 {
		t.Errorf("peak %v by what others took", got)
	}
	in.peaks = append(others, peak)
	if got := newReview(in).Reserves[0]; got.Peak != 0.22 || got.Enough != 0.3 || !got.PeakAt.Equal(at(3, 0)) {
		t.Errorf("%+v", got)
	}
}

// TestReviewOutside: what is left outside is given back only where the limit was
// full and the provider refused nothing.
func TestReviewOutside(t *testing.T) {
	t.Parallel()
	advised := func(in reviewInput) bool {
		return slices.ContainsFunc(newReview(in).Advice, func(a advice) bool { return strings.Contains(a.Command, "outside=2%") })
	}
	full := week()
	for i := range full.hours {
		if full.hours[i].Class == "bulk" {
			full.hours[i].Requests = 60 * 930
		}
	}
	if !advised(full) {
		t.Error("a full limit without refusals: no advice")
	}
	if advised(week()) {
		t.Error("a limit that was never full says nothing of what is outside")
	}
	full.hours[0].Provider429 = 1
	if advised(full) {
		t.Error("somebody was refused")
	}
}

// TestAtWork: only stretches that bulk worked through count, and a gap ends them.
func TestAtWork(t *testing.T) {
	t.Parallel()
	var all []stretch
	for m := range 10 {
		if m != 6 { // nobody called in that minute
			all = append(all, stretch{at: at(22, m), width: time.Minute, work: m >= 1})
		}
	}
	var got []int
	for _, s := range atWork(all) {
		got = append(got, s.at.Minute())
	}
	if want := []int{2, 3, 4, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPrintReview is the whole screen; no line is wider than 100 columns.
func TestPrintReview(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	o := &reviewOptions{factory: &factory{streams: &streams{Out: &b, Err: &b}, now: func() time.Time { return at(0, 0) }}}
	o.printReview(newReview(week()))
	for _, want := range []string{
		"estimates: charged before the call",
		"tags     bulk           5,600   +0.0 %       7.0 %",
		"m      rpm            1,000   40h00m  81.0 %    5.0 %    11.0 %  3.0 %   81.0 %",
		"▇▇▇▇▇▇▁▁▁▂▁▁▁▁▁▁▁▁▁▁▁▁▇▇",
		"rpm worth 7h36m stayed unused: 5.0 % outside, 11.0 % reserved and not needed, 3.0 % by pace",
		"- interactive peaks at 14 % of rpm",
		"what to do",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(b.String(), "would have been enough"); n != 1 {
		t.Errorf("the reserve is judged %d times", n)
	}
	for line := range strings.Lines(b.String()) { // sentences may be as long as they like
		if strings.Contains(line, "  ") && len([]rune(line)) > 101 {
			t.Errorf("%d columns: %s", len([]rune(line))-1, line)
		}
	}
}
