package gemini

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// History is what was used when, by whom, and what it met: of the last 48 hours in
// steps of ten seconds, of the last seven days in steps of five minutes. It only
// reads; a Historian makes what is read.
type History struct {
	rdb   redis.UniversalClient
	scope limiter.Scope
	keys  historyKeys

	redisNow func() time.Time // replaces Redis's clock in tests
}

// NewHistory reads the history of one scope.
func NewHistory(rdb redis.UniversalClient, scope limiter.Scope) *History {
	return &History{rdb: rdb, scope: scope, keys: newHistoryKeys(scope)}
}

// GroupBy is by what a history's series are told apart.
type GroupBy string

// The ways to tell series apart.
const (
	GroupClass   GroupBy = "class"
	GroupFeature GroupBy = "feature"
	GroupTenant  GroupBy = "tenant"
	GroupModel   GroupBy = "model"
)

// GroupsBy are all.
func GroupsBy() []GroupBy { return []GroupBy{GroupFeature, GroupTenant, GroupModel, GroupClass} }

// HistoryQuery says what is asked. Model, Class, Feature and Tenant leave all others
// out; "" is all. A feature's part of a tenant is not known.
type HistoryQuery struct {
	From, To                      time.Time
	By                            GroupBy       // default GroupClass
	Model, Class, Feature, Tenant string        // the model in small or capital letters
	Step                          time.Duration // default: the smallest of at most 600 points
	Top                           int           // groups; default 10, the rest are OtherFeature
	Unit                          string        // which groups are the largest: "rpm" (default), "input_tpm", …; see UsageSample.Amount
	Levels                        bool          // reads limits and loans too
}

// HistoryData is the answer. All series have the same number of points, of which the
// n-th begins at From + n × Step.
type HistoryData struct {
	From, To time.Time
	Step     time.Duration
	N        int             // points
	Total    HistorySeries   // of all that the query lets through
	Groups   []HistorySeries // the largest first; OtherFeature, if there is any, last
	Levels   []LevelSeries   // by model ("" when the query names none), class and limit
	Known    time.Time       // what was counted until then is in it; later counts are on their way
	Missing  []Interval      // of From..To: nothing is kept of these, as before the first call or while nobody counted
}

// Interval is a stretch of time.
type Interval struct{ From, To time.Time }

// HistorySeries is one group's.
type HistorySeries struct {
	Name   string        // "" for calls of no tenant
	Sum    UsageSample   // of all points
	Points []UsageSample // At is set
}

// Amount is what a sample has of a limit's unit ("rpm": requests, "input_tpm", "output_tpm",
// "total_tpm", "usd"), or of another count by its name (Amounts lists them).
func (s UsageSample) Amount(name string) int64 {
	if f, ok := amountsOf[name]; ok {
		return f(&s)
	}
	return 0
}

// AmountNames are what Amount knows: units first.
func AmountNames() []string {
	return []string{"rpm", "input_tpm", "output_tpm", "total_tpm", "usd", "calls", "429", "refused", "queued", "degraded", "failed",
		"retried", "cached_tokens", "cache_saved_usd", "cached_answers", "reused_rows", "waited_ms", "rows_ended", "rows_waited_ms"}
}

// UnitNames are the first of AmountNames: what limits are of.
func UnitNames() []string { return AmountNames()[:5] }

var amountsOf = map[string]func(*UsageSample) int64{
	"rpm":             func(s *UsageSample) int64 { return s.Requests },
	"input_tpm":       func(s *UsageSample) int64 { return s.InputTokens },
	"output_tpm":      func(s *UsageSample) int64 { return s.OutputTokens },
	"total_tpm":       func(s *UsageSample) int64 { return s.TotalTokens },
	"usd":             func(s *UsageSample) int64 { return s.MicroUSD },
	"calls":           func(s *UsageSample) int64 { return s.Calls },
	"429":             func(s *UsageSample) int64 { return s.Provider429 },
	"refused":         func(s *UsageSample) int64 { return s.Refused },
	"queued":          func(s *UsageSample) int64 { return s.Queued },
	"degraded":        func(s *UsageSample) int64 { return addUp(s.Degraded[:]) },
	"failed":          func(s *UsageSample) int64 { return s.ProviderFailed },
	"retried":         func(s *UsageSample) int64 { return sumCounts(s.Retried()) },
	"cached_tokens":   func(s *UsageSample) int64 { return s.CachedTokens },
	"cache_saved_usd": func(s *UsageSample) int64 { return s.CacheSavedMicroUSD },
	"cached_answers":  func(s *UsageSample) int64 { return s.DegradedBy[slices.Index(degradeKinds[:], DegradedCached)] },
	"reused_rows":     func(s *UsageSample) int64 { return s.ReusedRows },
	"waited_ms":       func(s *UsageSample) int64 { return sumCounts(s.WaitedFor()) },
	"rows_ended":      func(s *UsageSample) int64 { return s.RowsEnded() },
	"rows_waited_ms":  func(s *UsageSample) int64 { return sumCounts(s.RowsWaitedFor()) },
}

func addUp(ns []int64) (n int64) {
	for _, x := range ns {
		n += x
	}
	return n
}

func sumCounts(cs []Count) (n int64) {
	for _, c := range cs {
		n += c.N
	}
	return n
}

// LevelSeries is what was there of a limit, and on loan of it, over time.
type LevelSeries struct {
	Model, Class, Limit string // the limit by shorthand: "rpm"
	Points              []Level
}

// Level is the mean over a point of what was seen of a limit, every half minute. All
// are zero where nobody looked.
type Level struct {
	Limit     int64 // as configured
	Effective int64 // as enforced
	Used      int64 // by the class
	Lent      int64 // of the class's guarantee, what the classes below may use
	Borrowed  int64 // by the class: what it uses beyond what is left when nothing is lent
	Revoked   int64 // of Lent: taken back from the classes below, added up over the point
}

// Read answers a query.
func (h *History) Read(ctx context.Context, q HistoryQuery) (*HistoryData, error) {
	r, err := h.reader(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("gemini: history: %w", err)
	}
	if err := r.read(ctx); err != nil {
		return nil, fmt.Errorf("gemini: history: %w", err)
	}
	return r.answer(), nil
}
