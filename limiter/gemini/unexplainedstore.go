package gemini

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/unexplained.lua
var unexplainedLua string

var unexplainedScript = redis.NewScript(unexplainedLua)

const (
	unexplainedShapes = 50                  // of a scope
	unexplainedKept   = 30 * 24 * time.Hour // after the last one
)

// UnexplainedStore keeps answers that nobody could explain in Redis, for all
// processes of a scope: 50 shapes of at most 4 kB, each with the latest answer of
// that shape, how many there were, and when. They are there for 30 days after the
// last one.
type UnexplainedStore struct {
	rdb      redis.UniversalClient
	keys     []string
	redisNow func() time.Time // replaces Redis's clock in tests
}

// NewUnexplainedStore keeps those of one scope.
func NewUnexplainedStore(rdb redis.UniversalClient, scope limiter.Scope) *UnexplainedStore {
	return &UnexplainedStore{rdb: rdb, keys: unexplainedKeys(scope)}
}

// Keep counts an answer; the count and times that it comes with are not used.
func (s *UnexplainedStore) Keep(ctx context.Context, u UnexplainedAnswer) error {
	clock := ""
	if s.redisNow != nil {
		clock = strconv.FormatInt(s.redisNow().UnixMilli(), 10)
	}
	text, err := json.Marshal(u)
	if err == nil {
		err = unexplainedScript.Run(ctx, s.rdb, s.keys, clock, u.shape(), text, unexplainedShapes, unexplainedKept.Milliseconds()).Err()
	}
	if err != nil {
		return fmt.Errorf("gemini: unexplained answers: %w", err)
	}
	return nil
}

// List gives those that are kept, the latest first.
func (s *UnexplainedStore) List(ctx context.Context) ([]UnexplainedAnswer, error) {
	kept, err := s.rdb.HGetAll(ctx, s.keys[0]).Result()
	if err != nil {
		return nil, fmt.Errorf("gemini: unexplained answers: %w", err)
	}
	out := make([]UnexplainedAnswer, 0, len(kept))
	for shape, text := range kept {
		u, err := parseUnexplained(text)
		if err != nil {
			return nil, fmt.Errorf("gemini: unexplained answers: %s: %w", shape, err)
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b UnexplainedAnswer) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Body, b.Body))
	})
	return out, nil
}

func parseUnexplained(text string) (u UnexplainedAnswer, err error) {
	var first, last int64
	var count int64
	head, body, _ := strings.Cut(text, "|")
	if _, err := fmt.Sscanf(head, "%d %d %d", &count, &first, &last); err != nil {
		return u, err
	}
	err = json.Unmarshal([]byte(body), &u)
	u.Count, u.First, u.Last = count, time.UnixMilli(first), time.UnixMilli(last)
	return u, err
}
