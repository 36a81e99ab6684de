package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
)

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
