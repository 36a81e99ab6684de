package gateway

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
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
	defer time.AfterFunc(time.Minute, cancel).Stop()
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

// matrix is what all clients saw of all tasks, directly and through the gateway.
type matrix struct {
	mu    sync.Mutex
	got   map[string]map[string][ways]line // by client and task; guarded by mu
	asked map[string][ways][]string        // of the API, by client; guarded by mu
}

// add keeps what a client saw one way.
func (m *matrix) add(name string, way int, lines map[string]line, asked []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.asked[name]
	all[way] = asked
	m.asked[name] = all
	if m.got[name] == nil {
		m.got[name] = map[string][ways]line{}
	}
	for task, l := range lines {
		pair := m.got[name][task]
		pair[way] = l
		m.got[name][task] = pair
	}
}

// verdict is "same", what differs, or "" where the client has no such task.
func (m *matrix) verdict(name string, t task) string {
	pair, ok := m.got[name][t.name]
	if !ok {
		return ""
	}
	for way, through := range pair[1:] {
		if d := t.differs(pair[0], through, way == 1); d != "" {
			return d
		}
	}
	if t.own {
		return "same status"
	}
	return "same"
}

// judge fails for each difference, also for one between clients.
func (m *matrix) judge(t *testing.T) {
	t.Helper()
	for name, got := range m.got {
		if a := m.asked[name]; len(a[0]) < 20 || !slices.Equal(a[0], a[1]) || !slices.Equal(a[0], a[2]) {
			t.Errorf("%s asked\n%v\nand through the gateway\n%v\nand over HTTPS\n%v", name, a[0], a[1], a[2])
		}
		for _, task := range tasks {
			pair, done := got[task.name]
			if v := m.verdict(name, task); !strings.HasPrefix(v, "same") && (done || !task.some) {
				t.Errorf("%s, %s: %s", name, task.name, v)
			}
			if like, ok := m.got["Go SDK"][task.name]; ok && done && !task.own && !reflect.DeepEqual(pair[0].Sum, like[0].Sum) {
				t.Errorf("%s, %s: %v; the Go SDK: %v", name, task.name, pair[0].Sum, like[0].Sum)
			}
		}
	}
}

// table has a row for each task and a column for each client.
func (m *matrix) table() string {
	w := table.NewWriter()
	header := table.Row{"directly, through the gateway, and over HTTPS"}
	for _, c := range clients() {
		header = append(header, c.name)
	}
	w.AppendHeader(header)
	for _, t := range tasks {
		row := table.Row{t.name}
		for _, c := range clients() {
			row = append(row, m.verdict(c.name, t))
		}
		w.AppendRow(row)
	}
	return w.RenderMarkdown()
}

// refusals are the words of each refusal, direct and through the gateway.
func (m *matrix) refusals() string {
	var b strings.Builder
	for _, t := range tasks {
		for _, c := range clients() {
			if pair, ok := m.got[c.name][t.name]; ok && t.words {
				fmt.Fprintf(&b, "%s, %s\n  direct:  %v\n  gateway: %v\n", t.name, c.name, pair[0].Words, pair[1].Words)
			}
		}
	}
	return b.String()
}
