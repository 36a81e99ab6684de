package gemini

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/answers.lua
var answersLua string

var answersScript = redis.NewScript(answersLua)

// Defaults of an AnswerCache.
const (
	DefaultAnswerTTL = time.Hour
	DefaultAnswers   = 64 << 20 // bytes of all answers together
	mostAnswer       = 1 << 20  // bytes of one
)

// AnswerCacheOptions bounds an AnswerCache; zero fields take the defaults.
type AnswerCacheOptions struct {
	TTL      time.Duration // how old an answer may be; default an hour
	MaxBytes int64         // of all answers together, some 300 for each beside the answer itself; the oldest go first. Default 64 MB

	redisNow func() time.Time // replaces Redis's clock in tests
}

// AnswerCache keeps answers in Redis, for all processes of a scope. It holds
// what models wrote, in the clear: whoever may read the Redis may read it.
type AnswerCache struct {
	rdb  redis.UniversalClient
	root string
	opts AnswerCacheOptions
}

// NewAnswerCache keeps the answers of one scope. Its keys carry the hash tag of
// the limiter's scope:
//
//	…:answers         zset: name → when it was kept
//	…:answers:sizes   hash: name → bytes, total → their sum
//	…:answers:NAME    the answer
func NewAnswerCache(rdb redis.UniversalClient, scope limiter.Scope, o AnswerCacheOptions) *AnswerCache {
	o.TTL, o.MaxBytes = cmp.Or(o.TTL, DefaultAnswerTTL), cmp.Or(o.MaxBytes, int64(DefaultAnswers))
	return &AnswerCache{rdb: rdb, root: "nightshift:{limiter:" + scope.String() + "}:answers", opts: o}
}

// Get gives the answer of a name, if it is there.
func (c *AnswerCache) Get(ctx context.Context, name string) (answer []byte, found bool, err error) {
	b, err := c.rdb.Get(ctx, c.root+":"+name).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("gemini: kept answers: %w", err)
	}
	return b, true, nil
}

// Put keeps an answer, unless it alone is larger than 1 MB or a tenth of all.
func (c *AnswerCache) Put(ctx context.Context, name string, answer []byte) error {
	if int64(len(answer)) > min(mostAnswer, c.opts.MaxBytes/10) {
		return nil
	}
	clock := ""
	if c.opts.redisNow != nil {
		clock = strconv.FormatInt(c.opts.redisNow().UnixMilli(), 10)
	}
	keys := []string{c.root, c.root + ":sizes", c.root + ":"}
	err := answersScript.Run(ctx, c.rdb, keys, clock, c.opts.TTL.Milliseconds(), c.opts.MaxBytes, name, answer).Err()
	if err != nil {
		return fmt.Errorf("gemini: kept answers: %w", err)
	}
	return nil
}
