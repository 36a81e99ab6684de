package gemini

import (
	"cmp"
	"math"
	"sync"
	"time"

	"nightshift/limiter"
)

// Ask is what an estimate is wanted for.
type Ask struct {
	Method  string // "generateContent", …
	Model   Model
	Lane    limiter.Lane
	Class   string // whose quantile of the output is taken
	Feature string
	Body    []byte
	Asked   string // the model's name as the caller wrote it, for its price; "" means Model.Name
}

// Estimate is what a call is expected to take. Money is the most that it may
// cost, so that many calls at once cannot pass a cap together.
type Estimate struct {
	Amounts limiter.Amounts
	Input   int64 // input tokens by rule, before the learned correction
	Output  int64 // output tokens that the request allows at most
	Least   int64 // input tokens that the request surely has

	cache   string     // name of the cached content that is used
	media   Modalities // of Input
	shape   shape
	answers int64  // candidates
	tier    string // that the request asks for; "" for the API's own default
}

// DefaultQuantile is the part of calls, in ppm, whose output stays within its
// estimate, for a class that has none of its own.
const DefaultQuantile = 950_000

// Estimator guesses what a request takes. The zero value works, without
// learning and without money.
type Estimator struct {
	Prices   *PriceBook       // nil: no money in the estimates
	Now      func() time.Time // for prices; nil means time.Now
	Learning *Learning        // corrects estimates by what calls of the same lane and feature took; nil does not
	// Quantiles of the output that is estimated once it is learned, per class in
	// ppm of its calls; absent means DefaultQuantile. A low one lets more calls of
	// short answers in at once, and leaves more of what long ones take to be
	// charged while they run.
	Quantiles map[string]int64

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
// that it allows, both corrected by what was learned, its money by the price book
// (the dearest of all models when its own is not known).
func (e *Estimator) Ask(a Ask) (Estimate, error) {
	r, err := readRequest(a)
	if err != nil {
		return Estimate{}, err
	}
	got := e.byRule(r)
	input, output := e.learned(a, got)
	m := limiter.Amounts{
		limiter.Requests: max(1, r.texts), limiter.InputTokens: input, limiter.OutputTokens: output,
		limiter.TotalTokens: input + output, limiter.Images: r.images(), limiter.Concurrency: 1,
	}
	if rules[a.Method].stream {
		m[limiter.Streams] = 1
	}
	m[limiter.MicroUSD] = e.money(a, Usage{
		Prompt: max(input, got.Input), PromptByModality: got.media, Candidates: got.Output, OutputByModality: r.media(), Tier: r.tier, Searches: r.searches(),
	})
	got.Amounts, got.Least = m, min(got.Least, input)
	return got, nil
}

func (e *Estimator) byRule(r *request) Estimate {
	s, least := r.input()
	s.media += float64(e.cachedTokens(r.cached))
	return Estimate{
		Input: int64(math.Ceil(s.tokens())), Output: r.output(), Least: least,
		cache: r.cached, media: r.counted, shape: s, answers: max(1, r.answers), tier: r.tier,
	}
}

// learned corrects an estimate by what the same lane and feature took.
func (e *Estimator) learned(a Ask, by Estimate) (input, output int64) {
	key := pairKey{a.Lane, a.Feature}
	input, output = by.Input, by.Output
	if n, ok := e.Learning.input(key, by.shape); ok {
		input = n
	}
	if n, ok := e.Learning.output(key, e.quantile(a.Class)); ok {
		output = min(output, n*by.answers)
	}
	return input, output
}

func (e *Estimator) quantile(class string) float64 {
	return float64(cmp.Or(e.Quantiles[class], DefaultQuantile)) / 1_000_000
}

// holdAhead is how far a hold looks for a dearer price: the call goes out later than
// it is estimated.
const holdAhead = 10 * time.Minute

func (e *Estimator) money(a Ask, u Usage) int64 {
	if e.Prices == nil {
		return 0
	}
	now := e.Now
	if now == nil {
		now = time.Now
	}
	at, model := now(), a.Model.PricedAs(e.Prices, a.Asked)
	cost, _ := e.Prices.Cost(model, u, at)
	later, _ := e.Prices.Cost(model, u, at.Add(holdAhead))
	return max(cost, later)
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

// Learn takes what a call really had. The output of one that did not finish
// tells nothing.
func (e *Estimator) Learn(a Ask, estimated Estimate, u Usage, finished bool) {
	output := int64(-1)
	if finished && estimated.Output > 0 {
		output = (u.Output() + estimated.answers - 1) / max(1, estimated.answers)
	}
	if e.cacheKnown(estimated.cache) {
		e.Learning.learn(pairKey{a.Lane, a.Feature}, estimated.shape, u.Input(), output)
	}
	e.learnCache(estimated.cache, u.Cached)
}

// cacheKnown is false for a cached content whose size was only guessed.
func (e *Estimator) cacheKnown(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.cached[name]
	return ok || name == ""
}

func (e *Estimator) learnCache(name string, tokens int64) {
	if name == "" || tokens <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cached == nil {
		e.cached = map[string]int64{}
	}
	if _, known := e.cached[name]; known || len(e.cached) < cacheNames {
		e.cached[name] = tokens
	}
}
