package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestEventLogIsWhatTheStreamSays: at random moments and from random times on it gives what
// a reader of the whole stream gets, also of events in one millisecond, and reads each once.
func TestEventLogIsWhatTheStreamSays(t *testing.T) {
	t.Parallel()
	var (
		rng    = rand.New(rand.NewPCG(7, 8))
		now    = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
		stream []limiter.Event
		reads  int
	)
	read := func(_ context.Context, since time.Time, _ int) ([]limiter.Event, error) {
		out := stream[firstAt(stream, since):]
		reads += len(out)
		return out, nil
	}
	var log eventLog
	for i := range 3000 {
		if rng.IntN(3) > 0 {
			now = now.Add(time.Duration(rng.IntN(900_000)) * time.Millisecond)
		}
		stream = append(stream, limiter.Event{At: now, Text: fmt.Sprint(i)})
		if rng.IntN(20) > 0 {
			continue
		}
		from := now.Add(-time.Duration(rng.Int64N(int64(eventsFor))))
		got, err := log.since(t.Context(), from, now, read)
		if want := stream[firstAt(stream, from):]; err != nil || !reflect.DeepEqual(got, append([]limiter.Event{}, want...)) {
			t.Fatalf("after %d events: %d of %d, %v", i+1, len(got), len(want), err)
		}
	}
	if reads > len(stream)+len(stream)/5 || len(log.list) > 2500 {
		t.Errorf("%d events were read of %d, %d are kept", reads, len(stream), len(log.list))
	}
}
