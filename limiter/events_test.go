package limiter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// events gives kind and text of what happened since noon.
func (b *bench) events() (out []string) {
	b.Helper()
	es, err := b.Events(b.Context(), noon, 0)
	b.must(err)
	for _, e := range es {
		out = append(out, e.Kind+": "+e.Text)
	}
	return out
}

func (b *bench) happened(want ...string) {
	b.Helper()
	if got := strings.Join(b.events(), "\n"); got != strings.Join(want, "\n") {
		b.Fatalf("events\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestEvents(t *testing.T) {
	onEach(t, func(b *bench) {
		for i := range 5 {
			b.must(b.Note(b.Context(), Event{Kind: EventHealth, Subject: "bulk", Text: fmt.Sprintf("look\n %d", i), By: "monitor",
				Data: map[string]string{"look": itoa(i)}}))
			b.wait(time.Second)
		}
		b.wait(-time.Hour) // an event is never before the last
		b.must(b.Note(b.Context(), Event{Kind: EventAlert, Text: "late"}))
		if err := b.Note(b.Context(), Event{Text: "what?"}); err == nil {
			b.Error("an event without a kind was kept")
		}
		es, err := b.Events(b.Context(), noon.Add(2*time.Second), 3)
		b.must(err)
		if len(es) != 3 || es[0].Text != "look 3" || es[0].By != "monitor" || es[0].Subject != "bulk" || es[0].Data["look"] != "3" ||
			!es[0].At.Equal(noon.Add(3*time.Second)) || es[2].Text != "late" || !es[2].At.Equal(noon.Add(4*time.Second)) {
			b.Fatalf("%+v", es)
		}
		if es, _ = b.Events(b.Context(), noon.Add(2*time.Second), 0); len(es) != 4 {
			b.Fatalf("%d events since the third; want 4", len(es))
		}
		if es, _ = b.Events(b.Context(), noon.Add(time.Minute), 0); len(es) != 0 {
			b.Fatalf("%+v", es)
		}
	})
}

func TestEventsAreCapped(t *testing.T) {
	b := newBench(t, "real")
	r := b.gate.(*Redis)
	_, err := r.rdb.Pipelined(b.Context(), func(p redis.Pipeliner) error {
		for i := range keptEvents + 500 {
			p.XAdd(b.Context(), &redis.XAddArgs{Stream: r.keys.events[0], ID: fmt.Sprintf("1-%d", i+1), Values: []any{"kind", "health"}})
		}
		return nil
	})
	b.must(err)
	b.must(b.Note(b.Context(), Event{Kind: EventAlert, Text: "last"}))
	es, err := b.Events(b.Context(), time.Time{}, 0)
	b.must(err)
	if n := len(es); n < keptEvents || n > keptEvents+200 || es[n-1].Text != "last" {
		t.Fatalf("%d events are kept; want about %d, the last among them", n, keptEvents)
	}
}

func TestChangeOfLimitsIsAnEvent(t *testing.T) {
	onEach(t, func(b *bench) {
		c := Config{Scope: b.scope, Classes: classes, By: "host a pid 1", Revision: "1",
			Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 60, RPD: 1000}, OutsidePPM: 50_000}}}
		b.must(b.Configure(b.Context(), c))
		c.By, c.Revision = "host b pid 2", "2"
		b.must(b.Configure(b.Context(), c)) // says the same
		want := []string{"limits: flash: lend auto, outside 5 %, rpm 60, rpd 1000"}
		b.happened(want...)

		changed := c
		changed.Lanes = []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 120, InputTPM: 9000}, OutsidePPM: 50_000}}
		changed.Classes = []Class{classes[0], {Name: "bulk", Smooth: true, Tickets: true, CapPPM: 125_000}}
		changed.Weights = map[string]int64{"run/r1": 3}
		b.must(b.Configure(b.Context(), changed))
		want = append(want, "limits: flash: rpm 60 → 120, rpd 1000 → none, input_tpm none → 9000",
			"limits: bulk: cap 0 % → 12.5 %", "limits: weights: run/r1 3")
		b.happened(want...)
		es, _ := b.Events(b.Context(), noon, 0)
		if e := es[1]; e.By != "host b pid 2" || e.Subject != b.lane.String() || e.Data["from"] != "lend auto, outside 5 %, rpm 60, rpd 1000" {
			b.Fatalf("%+v", e)
		}
		changed.Lanes = nil
		b.must(b.Configure(b.Context(), changed))
		b.happened(append(want, "limits: flash: no longer configured")...)
	})
}

func TestProcessesThatDisagree(t *testing.T) {
	onEach(t, func(b *bench) {
		set := func(rpm int64, by string) {
			b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, By: by,
				Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: rpm}}}}))
			b.wait(time.Minute)
		}
		set(60, "host a pid 1")
		set(120, "host b pid 2")
		want := []string{"limits: flash: lend auto, outside 0 %, rpm 60", "limits: flash: rpm 60 → 120"}
		b.happened(want...)
		set(60, "host a pid 1")
		want = append(want, "alert: two processes disagree about the limits of flash: rpm 60 (host a pid 1) and 120 (host b pid 2)")
		b.happened(want...)
		b.wait(10 * time.Minute)
		set(120, "ada")
		set(60, "ada") // second thoughts
		want = append(want, "limits: flash: rpm 60 → 120", "limits: flash: rpm 120 → 60")
		b.happened(want...)
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes, By: "host c pid 3"}))
		set(60, "ada")
		b.happened(append(want, "limits: flash: no longer configured",
			"alert: two processes disagree about the limits of flash: lend auto, outside 0 %, rpm 60 (ada) and none (host c pid 3)")...)
	})
}
