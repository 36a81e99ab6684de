package gateway

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// client is somebody's way to call Gemini.
type client struct {
	id      string
	name    string
	missing func() string // what this machine lacks for it, and what to do; "" when nothing
	run     func(context.Context, plan, func(line)) error
}

func clients() []client {
	return []client{
		{"go", "Go SDK", func() string { return "" }, runGo},
		{"js", "@google/genai", nodeMissing, runNode},
		{"curl", "curl ?key=", curlMissing, runCurl},
		{"python", "Python wire form", pythonMissing, runPython},
	}
}

// ways to the API: directly, through the gateway, and through it over HTTPS.
const ways = 3

// TestClients: each client sees the same from the simulated API itself and
// through the gateway, where only its base URL and its key are others. It
// prints the matrix, and the words of each refusal.
func TestClients(t *testing.T) {
	t.Parallel()
	m := &matrix{got: map[string]map[string][ways]line{}, asked: map[string][ways][]string{}}
	rdb := clientRedis(t)
	t.Run("each", func(t *testing.T) {
		for _, c := range clients() {
			t.Run(c.id, func(t *testing.T) {
				t.Parallel()
				if why := c.missing(); why != "" {
					cannot(t, why)
				}
				m.run(t, rdb, c)
			})
		}
	})
	m.judge(t)
	t.Log("\n" + m.table() + "\n" + m.refusals())
}

func (m *matrix) run(t *testing.T, rdb redis.UniversalClient, c client) {
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		s := newSide(t)
		m.add(c.name, 0, s.results(c), s.asked())
	})
	for way, open := range []func(*side, redis.UniversalClient, string){1: (*side).gateway, 2: (*side).secureGateway} {
		if open == nil {
			continue
		}
		t.Run([]string{1: "gateway", 2: "https"}[way], func(t *testing.T) {
			t.Parallel()
			s := newSide(t)
			open(s, rdb, fmt.Sprintf("clients-%s-%d", c.id, way))
			m.add(c.name, way, s.results(c), s.asked())
			s.settled()
			t.Logf("it speaks %v", s.proto.Load())
		})
	}
}

// results are what a client says of each task, the last line of it.
func (s *side) results(c client) map[string]line {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	// A way to fail, nothing waits for it. A deadline the Go SDK would tell the API of.
	defer time.AfterFunc(3*time.Minute, cancel).Stop()
	got := map[string]line{}
	err := c.run(ctx, s.plan, func(l line) {
		if l.Chunk > 0 && l.Task == "flush" {
			s.steps <- struct{}{}
		}
		if l.Task == "abort" {
			s.left()
		}
		if l.Chunk == 0 {
			got[l.Task] = l
		}
	})
	if err != nil {
		s.Errorf("%s at %s: %v", c.name, s.plan.Base, err)
	}
	return got
}

// left checks that the API learned of the client that went in mid-stream, which
// has not ended yet.
func (s *side) left() {
	s.Helper()
	s.eventually("the aborted stream is over at the API", func() bool {
		for _, call := range s.sim.Calls() {
			if call.Model == "gemini-long" {
				return !call.Running && call.Status == 499
			}
		}
		return false
	})
}

// asked is what the API was asked, up to the calls of which a gateway makes fewer.
func (s *side) asked() []string {
	var list []string
	for _, c := range s.sim.Calls() {
		if c.Model == "gemini-limited" {
			break
		}
		header := maps.Clone(c.Header)
		if c.Method == "streamGenerateContent" {
			delete(header, "x-server-timeout") // the gateway says how long it lets one last
		}
		if header["x-server-timeout"] != "" {
			header["x-server-timeout"] = "some" // the Go SDK counts down while it prepares the call
		}
		list = append(list, fmt.Sprintln(c.Version, c.Method, c.Model, c.Digest, c.PromptTokens, c.Tier, header, c.Status))
	}
	return list
}

// settled checks that no permit is open, and that the aborted call is charged once.
func (s *side) settled() {
	s.Helper()
	for _, lane := range s.lanes.Lanes() {
		s.eventually("no permit is open for "+lane.Model, func() bool {
			st, err := s.lim.State(context.WithoutCancel(s.Context()), lane)
			if err != nil {
				s.Fatal(err)
			}
			if lane.Model == "gemini-long" && st.Limits[0].Used != 1 {
				s.Fatalf("%d of %s are charged for the aborted call", st.Limits[0].Used, st.Limits[0].Name)
			}
			return st.InFlight == 0
		})
	}
}

func (s *side) eventually(what string, holds func() bool) {
	s.Helper()
	(&setup{T: s.T}).eventually(what, holds)
}
