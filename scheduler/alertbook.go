package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// alertRecord is what is kept of one alert between two looks.
type alertRecord struct {
	Alert
	Seen  time.Time `json:"seen"`            // when it held last
	Fired bool      `json:"fired,omitempty"` // it has held for long enough
	Told  bool      `json:"told,omitempty"`
	Event bool      `json:"event,omitempty"` // among the events already
	// Least is the level of a cap that was told; one above it is told anew.
	Least int64 `json:"told_level,omitempty"`
}

func (a alertRecord) untold() bool { return a.Fired && (!a.Told || a.Level > a.Least) }

// alertBook is what is kept of all of them.
type alertBook struct {
	Records map[string]alertRecord `json:"records"`
	Over    []alertRecord          `json:"over,omitempty"` // that ended and were not told of yet
	Wait    time.Time              `json:"wait,omitzero"`  // when the first that waits to be told did begin to
	Past    []QueueMoment          `json:"past,omitempty"`
}

// alertNews is what there is to tell after a look.
type alertNews struct{ Begun, Over []alertRecord }

// step goes on from what was kept: what holds now, and what of it is to be told.
func (b alertBook) step(found []finding, r AlertRules, now time.Time) (alertBook, alertNews) {
	next := alertBook{Records: map[string]alertRecord{}, Over: slices.Clone(b.Over), Wait: b.Wait, Past: b.Past}
	for _, x := range found {
		id := x.ID()
		rec, known := b.Records[id]
		since := now
		if known {
			since = rec.Since
		}
		rec.Alert, rec.Event, rec.Seen = x.Alert, x.event, now
		rec.Since = since
		rec.Fired = rec.Fired || now.Sub(since) >= x.hold
		rec.Least = min(rec.Least, rec.Level) // a cap that was raised begins anew
		next.Records[id] = rec
	}
	for _, id := range slices.Sorted(maps.Keys(b.Records)) {
		rec := b.Records[id]
		if _, holds := next.Records[id]; holds || !rec.Fired {
			continue
		}
		if now.Sub(rec.Seen) < r.Clear {
			next.Records[id] = rec
		} else if rec.Told {
			next.Over = append(next.Over, rec)
		}
	}
	return next.tell(r, now)
}

// tell takes what is to be told, once the first of it has waited for the others.
func (b alertBook) tell(r AlertRules, now time.Time) (alertBook, alertNews) {
	var news alertNews
	for _, id := range slices.Sorted(maps.Keys(b.Records)) {
		if rec := b.Records[id]; rec.untold() {
			news.Begun = append(news.Begun, rec)
		}
	}
	news.Over = b.Over
	switch {
	case len(news.Begun)+len(news.Over) == 0:
		b.Wait = time.Time{}
		return b, alertNews{}
	case b.Wait.IsZero():
		b.Wait = now
	}
	if now.Sub(b.Wait) < r.Group {
		return b, alertNews{}
	}
	b.Wait, b.Over = time.Time{}, nil
	for _, rec := range news.Begun {
		rec.Told, rec.Least = true, rec.Level
		b.Records[rec.ID()] = rec
	}
	return b, news
}

// firing are those that hold, the oldest first.
func (b alertBook) firing() []Alert {
	out := []Alert{}
	for _, rec := range b.Records {
		if rec.Fired {
			out = append(out, rec.Alert)
		}
	}
	slices.SortFunc(out, func(x, y Alert) int {
		return cmp.Or(x.Since.Compare(y.Since), strings.Compare(x.ID(), y.ID()))
	})
	return out
}

// remember keeps how long the lines are, once a minute, for as long as growth is judged.
func (b *alertBook) remember(rows map[string]int64, over time.Duration, now time.Time) {
	if n := len(b.Past); n > 0 && now.Sub(b.Past[n-1].At) < time.Minute {
		return
	}
	first := 0
	for first+1 < len(b.Past) && now.Sub(b.Past[first+1].At) >= over {
		first++
	}
	b.Past = append(slices.Clone(b.Past[first:]), QueueMoment{At: now, Rows: rows})
}

// events are the news as hooks are told them: one for all that begins, one for all that
// is over.
func (n alertNews) events(project string, now time.Time) (out []RunEvent) {
	for _, x := range []struct {
		kind, one, many string
		of              []alertRecord
	}{{HookAlert, "needs a look", "things need a look", n.Begun}, {HookRecovered, "is over", "things are over", n.Over}} {
		if len(x.of) == 0 {
			continue
		}
		e := RunEvent{Kind: x.kind, At: now, Occasion: now.UTC().Format(time.RFC3339Nano)}
		lines := []string{}
		for _, rec := range x.of {
			e.Alerts = append(e.Alerts, rec.Alert)
			lines = append(lines, rec.line(x.kind))
		}
		e.Text = fmt.Sprintf("nightshift %s: %s: %s", project, x.one, lines[0])
		if len(lines) > 1 {
			e.Text = fmt.Sprintf("nightshift %s: %d %s\n• %s", project, len(lines), x.many, strings.Join(lines, "\n• "))
		}
		out = append(out, e)
	}
	return out
}

func (a alertRecord) line(kind string) string {
	if kind == HookAlert {
		return a.Line()
	}
	return fmt.Sprintf("%s (for %s)", a.Text, shortTime(max(a.Seen.Sub(a.Since), time.Minute)))
}
