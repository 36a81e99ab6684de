package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/progress"
)

// bar shows how far something is: a bar on a terminal, a line now and then
// elsewhere, so that a log stays readable.
type bar struct {
	s     *streams
	what  string
	total int64
	w     progress.Writer
	t     *progress.Tracker
	done  chan struct{}

	now  func() time.Time
	mu   sync.Mutex
	last time.Time // of the last plain line
	text string    // that line
}

const (
	plainEvery = 10 * time.Second
	// lifeEvery is how often a line is said that says nothing new: somebody may wonder
	// whether the command still lives.
	lifeEvery = 10 * time.Minute
)

func (s *streams) newBar(what string, total int64) *bar {
	b := &bar{s: s, what: what, total: total, now: time.Now, last: time.Now()}
	if !terminal(s.Err) || total == 0 {
		return b
	}
	b.w = progress.NewWriter()
	b.w.SetOutputWriter(s.Err)
	b.w.SetUpdateFrequency(200 * time.Millisecond)
	b.w.SetStyle(progress.StyleBlocks)
	b.w.Style().Visibility.ETA = true
	b.w.Style().Visibility.Speed = true
	b.w.Style().Options.SpeedPrecision = time.Second
	b.w.Style().Options.TimeInProgressPrecision = time.Second
	b.w.Style().Options.TimeDonePrecision = time.Second
	b.w.SetTrackerPosition(progress.PositionRight)
	b.w.SetMessageLength(90)
	b.w.SetTrackerLength(16)
	b.t = &progress.Tracker{Message: what, Total: total}
	b.w.AppendTracker(b.t)
	b.done = make(chan struct{})
	go func() { defer close(b.done); b.w.Render() }()
	return b
}

// set moves the bar. It fits the Progress callbacks of the packages below.
func (b *bar) set(done, _ int64) { b.show(done, "") }

// show moves the bar and says what goes on beside it.
func (b *bar) show(done int64, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.t != nil {
		b.t.SetValue(done)
		if note != "" {
			b.t.UpdateMessage(note)
		}
		return
	}
	now := b.now()
	if now.Sub(b.last) < plainEvery {
		return
	}
	text := strings.TrimSpace(fmt.Sprintf("%s %s of %s  %s", b.what, humanize.Comma(done), humanize.Comma(b.total), note))
	switch since := now.Sub(b.last); {
	case text != b.text:
		b.s.say("%s", text)
	case since >= lifeEvery:
		b.s.say("%s (as %s ago)", text, ago(since))
	default:
		return
	}
	b.last, b.text = now, text
}

// stop ends the drawing and leaves the cursor on a line of its own.
func (b *bar) stop() {
	if b.t == nil {
		return
	}
	if b.t.Value() < b.total {
		b.t.MarkAsErrored()
	} else {
		b.t.MarkAsDone()
	}
	b.w.Stop()
	<-b.done
}
