package jobs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestDrainHistories: whatever the order of ends, retries, updates, folds, drains
// and trims, the results are each row's last, in Redis as in the files.
func TestDrainHistories(t *testing.T) {
	rdb := redisClient(t)
	for seed := range uint64(8) {
		h := newResultHistory(t, rdb, seed)
		for range 40 {
			h.step()
		}
		h.check()
		if err := drainAndTrim(h.ctx, h.Store, h.run, h.dir); err != nil {
			t.Fatal(err)
		}
		h.check()
		h.checkFiles()
	}
}

// resultHistory is a run of few chunks and what its results must be.
type resultHistory struct {
	*bench
	rng  *rand.Rand
	name string
	run  string
	dir  string
	rows [historyRows]historyRow
	ends int
	log  []string
}

const historyRows = 600

// historyRow is what the next enqueue has of a row and what there is of it.
type historyRow struct {
	next, text int    // versions; 0: not in the input
	state      State  // None: it is not in the run; Queued: it is open
	last       State  // of its last result of this text
	output     string //
}

func newResultHistory(t *testing.T, rdb redis.UniversalClient, seed uint64) *resultHistory {
	h := &resultHistory{bench: newBench(t, rdb), rng: rand.New(rand.NewPCG(seed, 1)), name: fmt.Sprint("run", seed), dir: t.TempDir()}
	h.opts.Batch = 400
	for i := range h.rows {
		h.rows[i].next = 1
	}
	h.update()
	return h
}

func (h *resultHistory) step() {
	steps := []func(){h.endSome, h.endSome, h.endSome, h.retry, h.change, func() { h.fold(h.run) }, func() { h.drain(h.run, h.dir) }, func() { h.trim(h.run) }}
	k := h.rng.IntN(len(steps))
	h.log = append(h.log, []string{"end", "end", "end", "retry", "change", "fold", "drain", "trim"}[k])
	steps[k]()
}

// update enqueues what the rows are to be.
func (h *resultHistory) update() {
	h.t.Helper()
	var pairs []string
	for i := range h.rows {
		r := &h.rows[i]
		if r.next > 0 {
			pairs = append(pairs, fmt.Sprintf("r%d:%d", i, r.next))
		}
		r.enqueued()
	}
	h.run = h.enqueue(named(h.name), rows(pairs...), EnqueueOptions{Update: true}).Run.ID
}

// enqueued is what an update means for the row.
func (r *historyRow) enqueued() {
	switch {
	case r.next == 0:
		r.state = None
	case r.next != r.text:
		*r = historyRow{next: r.next, text: r.next, state: Queued}
	case r.state == None && r.last.Good():
		r.state = r.last
	case r.state == None:
		r.state = Queued
	}
}

// change alters, removes or brings back a few rows.
func (h *resultHistory) change() {
	for range 8 {
		r := &h.rows[h.rng.IntN(historyRows)]
		switch h.rng.IntN(3) {
		case 0:
			r.next = 0
		case 1:
			r.next = r.text
		case 2:
			r.next = r.text + 1
		}
	}
	h.update()
}

// endSome ends the open rows of a stretch.
func (h *resultHistory) endSome() {
	m, err := h.meta(h.ctx, h.run)
	if err != nil {
		h.t.Fatal(err)
	}
	var es []ending
	from := h.rng.Int64N(historyRows)
	err = h.eachState(h.ctx, m, func(s rowState) {
		if s.State.Terminal() || s.Index < from || s.Index > from+300 {
			return
		}
		r := &h.rows[s.Index]
		h.ends++
		r.last, r.output = []State{Done, Done, Done, Failed, Truncated}[h.rng.IntN(5)], fmt.Sprint("answer ", h.ends)
		r.state = r.last
		es = append(es, ended(s.Task, r.last, r.output))
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.end(es...)
}

func (h *resultHistory) retry() {
	which := []State{Failed, Truncated}[h.rng.IntN(2)]
	if _, err := h.Retry(h.ctx, h.run, RetryFilter{States: []State{which}}); err != nil {
		h.t.Fatal(err)
	}
	for i := range h.rows {
		if h.rows[i].state == which {
			h.rows[i].state = Queued
		}
	}
}

func (h *resultHistory) check() {
	h.t.Helper()
	h.balanced(h.run)
	want := map[string]string{}
	for i, r := range h.rows {
		if r.state.Terminal() {
			want[fmt.Sprint("r", i)] = r.state.String() + " " + r.output
		}
	}
	if got := h.outputs(h.run); !maps.Equal(got, want) {
		for row, w := range want {
			if got[row] != w {
				h.t.Errorf("%s is %q, want %q", row, got[row], w)
				break
			}
		}
		h.t.Fatalf("%s: %d results, want %d, after %v", h.name, len(got), len(want), h.log)
	}
}

// checkFiles ends the run: then the files have the last result of each row's
// last text, and no other.
func (h *resultHistory) checkFiles() {
	h.t.Helper()
	if _, err := h.Cancel(h.ctx, h.run); err != nil {
		h.t.Fatal(err)
	}
	r := h.drain(h.run, h.dir)
	if h.trim(h.run); h.bytes(h.run) != 0 {
		h.t.Errorf("%s: %d bytes are left", h.name, h.bytes(h.run))
	}
	want := map[string]string{}
	for i, row := range h.rows {
		if row.output != "" {
			want[fmt.Sprint("r", i)] = row.last.String() + " " + row.output
		}
	}
	if got := h.inFiles(r.Dir); !maps.Equal(got, want) {
		h.t.Fatalf("%s: %d results are in the files, want %d, after %v", h.name, len(got), len(want), h.log)
	}
}
