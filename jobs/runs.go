package jobs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoRun says that no run matches; ErrNoRow that the run has no such row.
var (
	ErrNoRun = errors.New("no such run")
	ErrNoRow = errors.New("no such row")
)

// AmbiguousError says that the beginning of a run's name or id matches several.
type AmbiguousError struct {
	Ref     string
	Matches []Run
}

func (e *AmbiguousError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q matches %d runs:", e.Ref, len(e.Matches))
	for _, r := range e.Matches {
		fmt.Fprintf(&b, "\n    %s  %s", r.ID, r.Spec.Name)
	}
	return b.String()
}

// newRunID sorts by time: eight digits of milliseconds in base 36, four random
// ones.
func newRunID(now time.Time) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	id := []byte(fmt.Sprintf("%08s", strconv.FormatInt(now.UnixMilli(), 36)))
	var r [4]byte
	_, _ = rand.Read(r[:])
	for _, b := range r {
		id = append(id, digits[int(b)%len(digits)])
	}
	return string(id)
}

// meta is a run's record with what is not for its users.
type meta struct {
	Run
	version, shards, next int64
	inputs                string
	drained               string // JSON of a drainRecord; "" while nothing is
	kept                  bool   // the enqueue under way leaves rows alone that were mended since
}

func (s *Store) meta(ctx context.Context, id string) (meta, error) {
	h, err := s.rdb.HGetAll(ctx, runKey(id)).Result()
	if err != nil {
		return meta{}, err
	}
	if h["record"] == "" {
		return meta{}, ErrNoRun
	}
	m := meta{inputs: h["inputs"], drained: h["drained"]}
	for name, to := range map[string]*int64{"v": &m.version, "shards": &m.shards, "next": &m.next} {
		*to, _ = strconv.ParseInt(h[name], 10, 64)
	}
	if m.version > schemaVersion {
		return meta{}, fmt.Errorf("run %s was made by a newer nightshift: upgrade this one", id)
	}
	if err := json.Unmarshal([]byte(h["record"]), &m.Run); err != nil {
		return meta{}, fmt.Errorf("run %s: its record cannot be read: %w", id, err)
	}
	m.Rows, _ = strconv.ParseInt(h["rows"], 10, 64)
	m.Dropped, _ = strconv.ParseInt(h["dropped"], 10, 64)
	if m.Planned, err = readPlanned(h["planned"]); err != nil {
		return meta{}, fmt.Errorf("run %s: %w", id, err)
	}
	return m, nil
}

// save writes a run's record and makes it known.
func (s *Store) save(ctx context.Context, m meta) error {
	record, err := json.Marshal(m.Run)
	if err != nil {
		return err
	}
	fields := append([]any{"v", schemaVersion, "record", record, "shards", m.shards, "inputs", m.inputs}, m.fields()...)
	if err := errors.Join(s.rdb.HSet(ctx, runKey(m.ID), fields...).Err(), s.watch(ctx, m.Run)); err != nil {
		return err
	}
	return s.rdb.ZAdd(ctx, keyRuns, redis.Z{Score: float64(m.Created.UnixMilli()), Member: m.ID}).Err()
}

// fields are those of a run's hash that scripts read, as the record has them now.
func (r Run) fields() []any {
	stop := int64(0)
	if r.Spec.Steer.Stops() {
		stop = r.Spec.Steer.Deadline.UnixMilli()
	}
	return []any{"digest", r.Stamp(), "halt", haltField(r.Spec.Halt),
		"max_wait", int64((r.Spec.MaxWait + time.Second - 1) / time.Second), "stop_at", stop}
}

// Load gives the run of exactly this id, ErrNoRun if there is none.
func (s *Store) Load(ctx context.Context, id string) (Run, error) {
	m, err := s.meta(ctx, id)
	return m.Run, err
}

// Find gives the run that ref means: "" is the latest; a name, an id, or the
// beginning of one name or id.
func (s *Store) Find(ctx context.Context, ref string) (Run, error) {
	if ref == "" {
		return s.latest(ctx)
	}
	names, err := s.rdb.HGetAll(ctx, keyNames).Result()
	if err != nil {
		return Run{}, err
	}
	if id, ok := names[ref]; ok {
		return s.Load(ctx, id)
	}
	if r, err := s.Load(ctx, ref); err == nil || !errors.Is(err, ErrNoRun) {
		return r, err
	}
	ids, err := s.rdb.ZRange(ctx, keyRuns, 0, -1).Result()
	if err != nil {
		return Run{}, err
	}
	return s.only(ctx, ref, beginning(ref, ids, names))
}

// beginning gives the ids of the runs whose id or name begins with ref, by age.
func beginning(ref string, ids []string, names map[string]string) []string {
	begins := map[string]bool{}
	for name, id := range names {
		// What begins with "=" is a digest: the run has no name.
		begins[id] = begins[id] || strings.HasPrefix(name, ref) && name[0] != '='
	}
	var found []string
	for _, id := range ids {
		if begins[id] || strings.HasPrefix(id, ref) {
			found = append(found, id)
		}
	}
	return found
}

func (s *Store) latest(ctx context.Context) (Run, error) {
	ids, err := s.rdb.ZRevRange(ctx, keyRuns, 0, 0).Result()
	if err != nil {
		return Run{}, err
	}
	if len(ids) == 0 {
		return Run{}, ErrNoRun
	}
	return s.Load(ctx, ids[0])
}

// only loads the one run that is found.
func (s *Store) only(ctx context.Context, ref string, ids []string) (Run, error) {
	var found []Run
	for _, id := range ids {
		r, err := s.Load(ctx, id)
		if err != nil {
			return r, err
		}
		found = append(found, r)
	}
	switch len(found) {
	case 0:
		return Run{}, fmt.Errorf("%w: %q", ErrNoRun, ref)
	case 1:
		return found[0], nil
	}
	return Run{}, &AmbiguousError{Ref: ref, Matches: found}
}

// Runs lists all runs, the latest first.
func (s *Store) Runs(ctx context.Context) ([]Run, error) {
	ids, err := s.rdb.ZRevRange(ctx, keyRuns, 0, -1).Result()
	if err != nil {
		return nil, err
	}
	runs := make([]Run, 0, len(ids))
	for _, id := range ids {
		r, err := s.Load(ctx, id)
		if errors.Is(err, ErrNoRun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Counts are the run's rows by state. They sum to its rows at any moment.
func (s *Store) Counts(ctx context.Context, run string) (Counts, error) {
	var c Counts
	h, err := s.rdb.HGetAll(ctx, countKey(run)).Result()
	if err != nil {
		return c, err
	}
	for name, v := range h {
		state, err1 := strconv.Atoi(name)
		n, err2 := strconv.ParseInt(v, 10, 64)
		if err1 != nil || err2 != nil || state <= 0 || state >= NumStates {
			return c, fmt.Errorf("run %s: counter %q is %q", run, name, v)
		}
		c[state] = n
	}
	return c, nil
}

// Lanes are the lanes that have, or had, queues. A lane is here before its
// first task is.
func (s *Store) Lanes(ctx context.Context) ([]string, error) {
	lanes, err := s.rdb.SMembers(ctx, keyLanes).Result()
	sort.Strings(lanes)
	return lanes, err
}
