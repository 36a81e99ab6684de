package gemini

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/lend.lua
var lendLua string

var lendScript = redis.NewScript(lendLua)

// LoanStore remembers loans in Redis, for all processes of a scope, until an hour
// after their lease or their end.
type LoanStore struct {
	rdb      redis.UniversalClient
	root     string
	redisNow func() time.Time // replaces Redis's clock in tests
}

// NewLoanStore remembers the loans of one scope. now replaces Redis's clock, for
// tests only; nil leaves it.
func NewLoanStore(rdb redis.UniversalClient, scope limiter.Scope, now func() time.Time) *LoanStore {
	return &LoanStore{rdb: rdb, root: "nightshift:{limiter:" + scope.String() + "}:loan:", redisNow: now}
}

// loan is what is remembered of one.
type loan struct {
	Loan
	Print    string          `json:"print"` // of what was asked for
	Asked    string          `json:"asked"` // the model, or alias, as the asker named it
	Begin    time.Time       `json:"begin"` // of the ask
	Estimate limiter.Amounts `json:"estimate"`
	Guess    lentGuess       `json:"guess"`
	Sent     bool            `json:"sent,omitempty"` // usage of it was reported
	Probe    bool            `json:"probe,omitempty"`

	text string // as it was read
}

// read gives a loan, or nil.
func (s *LoanStore) read(ctx context.Context, id string) (*loan, error) {
	l, _, err := s.run(ctx, id, "read")
	return l, err
}

// put keeps a loan in the place of the one that was read, or of none. Where
// something else is there by now, it is given instead and done is false.
func (s *LoanStore) put(ctx context.Context, was *loan, to loan, kept time.Duration) (held *loan, done bool, err error) {
	old := ""
	if was != nil {
		old = was.text
	}
	text, err := json.Marshal(to)
	if err != nil {
		return nil, false, err
	}
	return s.run(ctx, to.ID, "put", old, text, kept.Milliseconds())
}

func (s *LoanStore) run(ctx context.Context, id, what string, args ...any) (*loan, bool, error) {
	clock := ""
	if s.redisNow != nil {
		clock = strconv.FormatInt(s.redisNow().UnixMilli(), 10)
	}
	got, err := lendScript.Run(ctx, s.rdb, []string{s.root + id}, append([]any{clock, what}, args...)...).Slice()
	if err != nil {
		return nil, false, fmt.Errorf("gemini: loans: %w", err)
	}
	if len(got) != 3 {
		return nil, false, fmt.Errorf("gemini: loans: strange answer %v", got)
	}
	now, _ := got[0].(int64)
	text, _ := got[1].(string)
	l, err := parseLoan(text, time.UnixMilli(now))
	return l, got[2] == int64(1), err
}

func parseLoan(text string, now time.Time) (*loan, error) {
	if text == "" {
		return nil, nil
	}
	l := &loan{text: text}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return nil, fmt.Errorf("gemini: a stored loan cannot be read: %w", err)
	}
	l.Now = now
	l.Lapsed = l.State == LoanOpen && !now.Before(l.Expires)
	return l, nil
}
