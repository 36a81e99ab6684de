package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler/sim"
)

// What a dry run replays: so many hours back, of which the history is fine enough.
const (
	replayHours = 24 * time.Hour
	replayStep  = 20 * time.Second
)

// replayed says what the last day's use would have met under a change, for each model that
// it concerns.
func (b *backend) replayed(ctx context.Context, node string, before, after limiter.Config, now time.Time) (notes []string, err error) {
	for _, l := range after.Lanes {
		if node != l.Lane.String() && !strings.HasPrefix(node, "class/") {
			continue
		}
		uses, err := b.recorded(ctx, l.Lane, now)
		if err != nil {
			return nil, err
		}
		was, err := sim.Replay(before, l.Lane, uses)
		if err != nil {
			return nil, err
		}
		is, err := sim.Replay(after, l.Lane, uses)
		if err != nil {
			return nil, err
		}
		notes = append(notes, replayWords(l.Lane.Model, was, is)...)
	}
	return notes, nil
}

// recorded is what the classes used of a lane.
func (b *backend) recorded(ctx context.Context, l limiter.Lane, now time.Time) ([]sim.Use, error) {
	d, err := gemini.NewHistory(b.rdb, b.conf.scope()).Read(ctx, gemini.HistoryQuery{From: now.Add(-replayHours), To: now, By: gemini.GroupClass, Model: l.Model, Step: replayStep})
	if err != nil {
		return nil, err
	}
	return usesOf(d), nil
}

// usesOf is a history by class as it is replayed.
func usesOf(d *gemini.HistoryData) (uses []sim.Use) {
	for i := range d.N {
		for _, g := range d.Groups {
			if p := g.Points[i]; p.Requests > 0 {
				uses = append(uses, sim.Use{At: p.At, Class: g.Name, Lasted: d.Step, Used: limiter.Amounts{
					limiter.Requests: p.Requests, limiter.InputTokens: p.InputTokens, limiter.OutputTokens: p.OutputTokens, limiter.TotalTokens: p.TotalTokens}})
			}
		}
	}
	return uses
}

// replayWords compares how each class would have fared with how it fares now.
func replayWords(model string, was, is []sim.Borne) (notes []string) {
	if len(is) == 0 {
		return []string{fmt.Sprintf("%s: no calls of the last 24 h are recorded, so nothing can be replayed.", model)}
	}
	old := map[string]sim.Borne{}
	for _, b := range was {
		old[b.Class] = b
	}
	for _, b := range is {
		o := old[b.Class]
		what := []string{}
		if b.Refused > o.Refused {
			what = append(what, fmt.Sprintf("%s refused", humanize.Comma(b.Refused-o.Refused)))
		}
		if b.Delayed > o.Delayed || b.Longest > o.Longest {
			what = append(what, fmt.Sprintf("%s delayed, by up to %s", humanize.Comma(max(0, b.Delayed-o.Delayed)), b.Longest.Round(time.Second)))
		}
		if b.Left > o.Left {
			what = append(what, fmt.Sprintf("%s not done by now", humanize.Comma(b.Left-o.Left)))
		}
		if b.Never > o.Never {
			what = append(what, fmt.Sprintf("%s refused for good as too large", humanize.Comma(b.Never-o.Never)))
		}
		notes = append(notes, fmt.Sprintf("%s, %s: of %s calls of the last 24 h %s.", model, b.Class, humanize.Comma(b.Calls), orElse(joinMore(what), "none would have been refused or delayed by the change")))
	}
	return notes
}

// joinMore says what would have become of calls beside what becomes of them now.
func joinMore(what []string) string {
	if len(what) == 0 {
		return ""
	}
	count, fate, _ := strings.Cut(strings.Join(what, "; "), " ")
	return count + " would have been " + fate + " (more than under the limits of now)"
}
