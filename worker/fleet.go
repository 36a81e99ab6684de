package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/fleet.lua
var fleetLua string

var fleetScript = redis.NewScript(fleetLua)

const (
	beatEvery = time.Second
	beatFor   = 10 * time.Second // a worker not heard of for so long does not count
)

// WorkerInfo is what a worker process tells the others about itself.
type WorkerInfo struct { //nolint:revive // Info alone would not say whose
	ID       string        `json:"id"`
	Host     string        `json:"host"`
	PID      int           `json:"pid"`
	Started  time.Time     `json:"started"`
	Seen     time.Time     `json:"-"`                 // Redis's clock
	Quiet    time.Duration `json:"-"`                 // how long ago that was
	Project  string        `json:"project,omitempty"` // whose lanes it serves; "" is any
	Limits   string        `json:"limits,omitempty"`  // revision of the limits it was configured with; "" is not known
	Draining bool          `json:"draining,omitempty"`
	Lanes    []LaneInfo    `json:"lanes"`

	Done    int64 `json:"done"`    // rows with a good result since it started
	Bad     int64 `json:"bad"`     // rows that ended otherwise
	Retries int64 `json:"retries"` // failures that were, or will be, tried again
	Waits   int64 `json:"waits"`   // times a row was put back without blame
}

// LaneInfo is one lane of a worker: how many calls it may make at once and how
// many it makes now.
type LaneInfo struct {
	Lane    string   `json:"lane"`
	Slots   int      `json:"slots"`
	Busy    int      `json:"busy"`
	Trouble *Trouble `json:"trouble,omitempty"`
	Failing *Failing `json:"failing,omitempty"` // what its calls meet while the provider fails
}

// Trouble is why a worker cannot reach the provider.
type Trouble struct {
	Why   string    `json:"why"`   // "network: dial tcp …: connection refused"
	Since time.Time `json:"since"` //
	Next  time.Time `json:"next"`  // when it tries again
}

// Serves gives the worker's entry for a lane.
func (w WorkerInfo) Serves(lane string) (LaneInfo, bool) {
	i := slices.IndexFunc(w.Lanes, func(l LaneInfo) bool { return l.Lane == lane })
	if i < 0 || w.Draining {
		return LaneInfo{}, false
	}
	return w.Lanes[i], true
}

// serves gives the lanes that count as served while the worker beats.
func (w WorkerInfo) serves() (lanes []string) {
	for _, l := range w.Lanes {
		if _, ok := w.Serves(l.Lane); ok {
			lanes = append(lanes, l.Lane)
		}
	}
	return lanes
}

// Fleet lists the worker processes that were heard of in the last ten seconds,
// in order of their ids.
func Fleet(ctx context.Context, rdb redis.UniversalClient) ([]WorkerInfo, error) {
	return fleetCall(ctx, rdb, "", "", false)
}

// Serving counts the workers of a fleet that serve a lane, and their call slots.
func Serving(fleet []WorkerInfo, lane string) (workers, slots int) {
	for _, w := range fleet {
		if l, ok := w.Serves(lane); ok {
			workers++
			slots += l.Slots
		}
	}
	return workers, slots
}

// NoWay gives the trouble of a lane that no worker of the fleet can work on; nil
// when one can, or none serves it.
func NoWay(fleet []WorkerInfo, lane string) *Trouble {
	var last *Trouble
	for _, w := range fleet {
		l, ok := w.Serves(lane)
		switch {
		case !ok:
		case l.Trouble == nil:
			return nil
		case last == nil || l.Trouble.Next.Before(last.Next):
			last = l.Trouble
		}
	}
	return last
}

// fleetCall writes one's own entry and which lanes it serves, and reads all unless it is
// blind.
func fleetCall(ctx context.Context, rdb redis.UniversalClient, id, info string, blind bool, lanes ...string) ([]WorkerInfo, error) {
	only := ""
	if blind {
		only = "1"
	}
	args := []any{id, info, beatFor.Milliseconds(), only}
	for _, l := range lanes {
		args = append(args, l)
	}
	reply, err := fleetScript.Run(ctx, rdb, []string{fleetKey, servedKey}, args...).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("reading the worker fleet: %w", err)
	}
	if len(reply)%2 == 0 {
		return nil, fmt.Errorf("reading the worker fleet: strange answer of %d parts", len(reply))
	}
	now, _ := strconv.ParseInt(reply[0], 10, 64)
	var fleet []WorkerInfo
	for pair := range slices.Chunk(reply[1:], 2) {
		var w WorkerInfo
		ms, err := strconv.ParseInt(pair[0], 10, 64)
		if err != nil || json.Unmarshal([]byte(pair[1]), &w) != nil {
			continue // a newer version's entry is not ours to read
		}
		w.Seen, w.Quiet = time.UnixMilli(ms), time.Duration(now-ms)*time.Millisecond
		fleet = append(fleet, w)
	}
	slices.SortFunc(fleet, func(a, b WorkerInfo) int { return strings.Compare(a.ID, b.ID) })
	return fleet, nil
}

// registry keeps this worker's entry and the last view of the others.
type registry struct {
	rdb  redis.UniversalClient
	self func() WorkerInfo

	blind int // beats until the fleet is read again; of the goroutine that beats

	mu     sync.Mutex
	others []WorkerInfo
}

// blindBeats is how many beats of a fleet of n pass between two readings. All read all,
// so that what Redis does for it would grow with the square of the fleet: each of fifty
// reads every second, each of five hundred and more every ten.
func blindBeats(n int) int { return min(n/50, 9) }

// beat writes our entry and reads the fleet's, now and then when it is large.
func (r *registry) beat(ctx context.Context) error {
	self := r.self()
	info, err := json.Marshal(self)
	if err != nil {
		return err
	}
	fleet, err := fleetCall(ctx, r.rdb, self.ID, string(info), r.blind > 0, self.serves()...)
	if err != nil {
		return err
	}
	if r.blind > 0 {
		r.blind--
		return nil
	}
	r.blind = blindBeats(len(fleet))
	fleet = slices.DeleteFunc(fleet, func(w WorkerInfo) bool { return w.ID == self.ID })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others = fleet
	return nil
}

// leave removes our entry.
func (r *registry) leave(ctx context.Context) error {
	_, err := fleetCall(ctx, r.rdb, r.self().ID, "", true)
	return err
}

// fleet is the other workers as they were when it was last read.
func (r *registry) fleet() []WorkerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.others)
}

// serving is how many other workers served a lane when the fleet was last read.
func (r *registry) serving(lane string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := Serving(r.others, lane)
	return n
}

// idleElsewhere is how many free slots the other workers had for a lane
// when the fleet was last read.
func (r *registry) idleElsewhere(lane string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, w := range r.others {
		if l, ok := w.Serves(lane); ok {
			n += max(l.Slots-l.Busy, 0)
		}
	}
	return n
}

// run beats until the context ends. A failed beat leaves the last view: with
// Redis away nothing can be pulled either.
func (r *registry) run(ctx context.Context) {
	for {
		_ = r.beat(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(beatEvery):
		}
	}
}
