package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/jedib0t/go-pretty/v6/text"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// watching is a screen on which a fleet of so many runs was seen.
func watching(t *testing.T, runs int) watchScreen {
	t.Helper()
	v := &overview{At: time.Now(), Project: "main", Events: []limiter.Event{{At: time.Now(), Kind: "alert", Text: strings.Repeat("long ", 80)}},
		Lanes:  []limiter.LaneState{{Lane: limiter.Lane{Model: "flash"}, Limits: []limiter.LimitState{{Name: "rpm", Used: 45, Effective: 100}}}},
		Advice: []advice{{"bad", "no worker serves 夜間バッチ", "nightshift worker"}}}
	for i := range 5 {
		v.queues = append(v.queues, worker.QueueState{Name: fmt.Sprintf("bulk-low.flash%d", i), Pending: 1200, Active: 3, Retry: 40, Later: 2, Archived: 1, Paused: i == 0})
	}
	for i := range runs {
		r := runStatus{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("run-%d", i), counts: jobs.Counts{}}
		r.counts[jobs.Done], r.counts[jobs.Queued] = 10, int64(i%2)
		v.Runs = append(v.Runs, r)
	}
	m := watchScreen{every: time.Second, look: func() (*overview, error) { return v, nil }, width: 80, height: 24}
	return press(t, m, watchLooked{v: v})
}

func press(t *testing.T, m watchScreen, msgs ...tea.Msg) watchScreen {
	t.Helper()
	for _, msg := range msgs {
		next, cmd := m.Update(msg)
		m = next.(watchScreen)
		if _, acts := msg.(tea.KeyPressMsg); acts && cmd != nil {
			if done := cmd(); done != nil {
				m = press(t, m, done)
			}
		}
	}
	return m
}

func letter(c rune) tea.Msg { return tea.KeyPressMsg{Code: c, Text: string(c)} }

// TestWatchDraws: the screen has exactly its size, whatever that is and however much
// there is to see; open runs come first, and the chosen one is always among them.
func TestWatchDraws(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{0, 3, 1000} {
		m := watching(t, runs)
		for _, size := range [][2]int{{80, 24}, {200, 50}, {20, 6}, {1, 1}} {
			m = press(t, m, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			lines := strings.Split(m.draw(), "\n")
			if len(lines) > max(size[1], 2) {
				t.Errorf("%d runs: %d lines of %d", runs, len(lines), size[1])
			}
			for _, l := range lines {
				if n := text.StringWidthWithoutEscSequences(l); n > size[0] {
					t.Errorf("%d runs: %d columns of %d: %q", runs, n, size[0], l)
				}
			}
		}
	}
	m := watching(t, 1000)
	for range 40 {
		m = press(t, m, tea.KeyPressMsg{Code: tea.KeyDown})
	}
	for _, want := range []string{"nightshift main", ">run-81 ", "[####------]   45 %", "no worker serves", "q quit", "queues", fmt.Sprintf("%-34s 1,200 ready, 3 at work, 42 come again", "bulk-low.flash0"), "  … 3 more"} {
		if !strings.Contains(m.draw(), want) {
			t.Errorf("no %q in\n%s", want, m.draw())
		}
	}
}

// TestWatchAsks: nothing is done without a yes, and it is done to the run that was asked
// about; an error of the last look leaves what was seen.
func TestWatchAsks(t *testing.T) {
	t.Parallel()
	m := watching(t, 4)
	var did []string
	m.act = func(verb, target string) (string, error) {
		did = append(did, verb+" "+target)
		if verb == "cancel" {
			return "", errors.New("Redis is away")
		}
		return verb + " is done", nil
	}
	m = press(t, m, letter('p'))
	if !strings.Contains(m.draw(), "pause run run-1?") {
		t.Errorf("not asked:\n%s", m.draw())
	}
	m = press(t, m, letter('n'), letter('p'), letter('y'))
	if !strings.Contains(m.draw(), "pause is done") {
		t.Errorf("not said:\n%s", m.draw())
	}
	m = press(t, m, tea.KeyPressMsg{Code: tea.KeyDown}, letter('c'), letter('y'), letter('b'), letter('y'))
	m = press(t, m, tea.KeyPressMsg{Code: tea.KeyDown}, letter('c'), letter('y')) // run-0 has ended
	if want := []string{"pause id1", "cancel id3", "pause bulk"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	m = press(t, m, watchLooked{err: errors.New("Redis is\naway")})
	if s := m.draw(); !strings.Contains(s, "! Redis is away") || !strings.Contains(s, "run-1") {
		t.Errorf("after an error:\n%s", s)
	}
	if _, cmd := m.key("q"); cmd == nil {
		t.Error("q does not end it")
	}
}

// TestWatchLines: where there is no screen each event is a line, once, and each look one.
func TestWatchLines(t *testing.T) {
	t.Parallel()
	at := time.Now()
	v := &overview{At: at, Runs: watching(t, 2).seen.Runs, Events: []limiter.Event{{At: at.Add(-time.Hour), Kind: "pause", Text: "old"}, {At: at, Kind: "pause", Text: "new"}},
		Pauses: []limiter.Pause{{Class: "bulk", Reason: "health"}}, Alerts: []scheduler.Alert{{}}}
	var out bytes.Buffer
	s := &streams{Out: &out}
	seen := printLook(s, v, at.Add(-time.Minute))
	printLook(s, v, seen)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "pause: new") || lines[1] != lines[2] ||
		!strings.Contains(lines[1], "health unwatched; 0 workers; class bulk paused (health); 1 alert (nightshift alerts); run-1 10 of 11") {
		t.Errorf("%q", lines)
	}
}
