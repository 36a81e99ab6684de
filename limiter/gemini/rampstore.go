package gemini

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/ramp.lua
var rampLua string

var rampScript = redis.NewScript(rampLua)

// What keeps a ramp from being written.
var (
	ErrRampChanged = errors.New("the ramp has changed meanwhile")
	ErrRampFenced  = errors.New("another scheduler leads by now")
	ErrManyRamps   = fmt.Errorf("there are %d ramps already: forget those that are over", mostRamps)
)

// mostRamps bounds what every process reads twice a second, those that are over
// included.
const mostRamps = 50

// rampFencedFor is how long a later leader's last write keeps an older one out:
// longer than a term of the older one can last unnoticed.
const rampFencedFor = 20 * time.Second

// RampStore keeps the ramps of a scope in Redis, for all its processes.
type RampStore struct {
	rdb redis.UniversalClient
	key string
}

// NewRampStore gives the scope's.
func NewRampStore(rdb redis.UniversalClient, scope limiter.Scope) *RampStore {
	return &RampStore{rdb: rdb, key: rampsKey(scope)}
}

// Ramps gives all, those that are over too, by name.
func (s *RampStore) Ramps(ctx context.Context) ([]Ramp, error) {
	all, err := s.rdb.HGetAll(ctx, s.key).Result()
	if err != nil {
		return nil, fmt.Errorf("ramps: %w", err)
	}
	out := make([]Ramp, 0, len(all))
	for name, text := range all {
		if !strings.Contains(name, "/") {
			continue // of no ramp: see rampsKey
		}
		r, err := parseRamp(text)
		if err != nil {
			return nil, fmt.Errorf("ramp %s: %w", name, err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Ramp) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

func parseRamp(text string) (r Ramp, err error) {
	rev, doc, _ := strings.Cut(text, " ")
	if err = json.Unmarshal([]byte(doc), &r); err != nil {
		return r, err
	}
	r.rev, err = strconv.ParseInt(rev, 10, 64)
	return r, err
}

// Put writes a ramp that a person made or changed. ErrRampChanged: it is not what
// was read; of a new one, there is one of its name.
func (s *RampStore) Put(ctx context.Context, r Ramp) error { return s.write(ctx, &r, "", false) }

// PutFenced writes what a leader decided. ErrRampFenced: it leads no longer.
func (s *RampStore) PutFenced(ctx context.Context, r Ramp, fence int64) error {
	return s.write(ctx, &r, strconv.FormatInt(fence, 10), false)
}

// Remove forgets a ramp, if it is still what was read.
func (s *RampStore) Remove(ctx context.Context, r Ramp) error { return s.write(ctx, &r, "", true) }

// write puts the ramp's new revision into it.
func (s *RampStore) write(ctx context.Context, r *Ramp, fence string, remove bool) error {
	text := []byte{}
	if !remove {
		if err := r.Check(); err != nil {
			return fmt.Errorf("ramp %s: %w", r.Name(), err)
		}
		var err error
		if text, err = json.Marshal(r); err != nil {
			return err
		}
	}
	n, err := rampScript.Run(ctx, s.rdb, []string{s.key}, r.Name(), r.rev, text, fence, rampFencedFor.Milliseconds(), mostRamps).Int64()
	if err != nil {
		return fmt.Errorf("ramp %s: %w", r.Name(), err)
	}
	if n > 0 {
		r.rev = n
	}
	return map[int64]error{0: ErrRampChanged, -1: ErrRampFenced, -2: ErrManyRamps}[n]
}

// Change reads a ramp, changes it and writes it, again when somebody else wrote in
// between. The error of change ends it.
func (s *RampStore) Change(ctx context.Context, scope RampScope, from string, change func(*Ramp) error) (Ramp, error) {
	name := RampName(scope, from)
	for {
		text, err := s.rdb.HGet(ctx, s.key, name).Result()
		if err != nil {
			return Ramp{}, fmt.Errorf("ramp %s: %w", name, err)
		}
		r, err := parseRamp(text)
		if err != nil {
			return r, fmt.Errorf("ramp %s: %w", name, err)
		}
		rev := r.rev
		if err := change(&r); err != nil {
			return r, err
		}
		r.rev = rev // also of one that takes the old one's place
		if err := s.write(ctx, &r, "", false); !errors.Is(err, ErrRampChanged) {
			return r, err
		}
	}
}
