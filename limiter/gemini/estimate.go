package gemini

import (
	"sync"
	"time"

	"nightshift/limiter"
)

// Ask is what an estimate is wanted for.
type Ask struct {
	Method  string // "generateContent", …
	Model   Model
	Lane    limiter.Lane
	Feature string
	Body    []byte
}

// Estimate is what a call is expected to take at most.
type Estimate struct {
	Amounts limiter.Amounts
	Input   int64 // input tokens by rule, before the learned correction
	Least   int64 // input tokens that the request surely has

	cache string // name of the cached content that is used
}

// Estimator guesses what a request takes. The zero value works, without
// learning and without money.
type Estimator struct {
	Prices   *PriceBook       // nil: no money in the estimates
	Now      func() time.Time // for prices; nil means time.Now
	Learning Learning         // corrects the input by what calls of the same lane and feature took

	mu     sync.Mutex
	cached map[string]int64 // tokens of cached contents by name, as last reported; guarded by mu
}

// unknownCache is what a cached content is taken for until a call has told:
// the smallest that may be cached is 4,096 tokens
// (https://ai.google.dev/gemini-api/docs/caching).
const (
	unknownCache = 32_768
	cacheNames   = 4096 // names that are remembered
)

// Estimate is Ask for a request of which nothing else is known.
func (e *Estimator) Estimate(method, model string, body []byte) (limiter.Amounts, error) {
	m := Model{Name: NormalizeModel(model), Context: DefaultContext, MaxOutput: DefaultMaxOutput}
	got, err := e.Ask(Ask{Method: method, Model: m, Body: body})
	return got.Amounts, err
}

// Ask estimates a request: its input by what is in it, its output by the most
// that it allows, its money by the price book (0 when the price is unknown).
func (e *Estimator) Ask(a Ask) (Estimate, error) {
	r, err := readRequest(a)
	if err != nil {
		return Estimate{}, err
	}
	rule, least := r.input()
	rule += e.cachedTokens(r.cached)
	input, output := e.Learning.correct(a.Lane, a.Feature, rule), r.output()
	m := limiter.Amounts{
		limiter.Requests: max(1, r.texts), limiter.InputTokens: input, limiter.OutputTokens: output,
		limiter.TotalTokens: input + output, limiter.Images: r.images(), limiter.Concurrency: 1,
	}
	if rules[a.Method].stream {
		m[limiter.Streams] = 1
	}
	m[limiter.MicroUSD] = e.money(a.Model.Name, Usage{Prompt: input, Candidates: output, Tier: r.tier})
	return Estimate{Amounts: m, Input: rule, Least: min(least, input), cache: r.cached}, nil
}

func (e *Estimator) money(model string, u Usage) int64 {
	if e.Prices == nil {
		return 0
	}
	now := e.Now
	if now == nil {
		now = time.Now
	}
	cost, _ := e.Prices.Cost(model, u, now())
	return cost
}

func (e *Estimator) cachedTokens(name string) int64 {
	if name == "" {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n, ok := e.cached[name]; ok {
		return n
	}
	return unknownCache
}

// Learn takes what a call really had.
func (e *Estimator) Learn(a Ask, estimated Estimate, u Usage) {
	e.Learning.learn(a.Lane, a.Feature, estimated.Input, u.Input())
	if estimated.cache == "" || u.Cached <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cached == nil {
		e.cached = map[string]int64{}
	}
	if _, known := e.cached[estimated.cache]; known || len(e.cached) < cacheNames {
		e.cached[estimated.cache] = u.Cached
	}
}
