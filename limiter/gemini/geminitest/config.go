package geminitest

import (
	"cmp"
	"fmt"
	"regexp"
	"time"
)

// Config says what the simulated project looks like. The zero value serves any
// model without limits, prices or delay.
type Config struct {
	// Models are the models that have settings of their own; nil: DefaultModels.
	Models []Model `json:"models,omitempty" yaml:"models,omitempty"`
	// Default gives the settings of every other model, each with counters of its own.
	Default Model `json:"default,omitzero" yaml:"default,omitempty"`
	// Strict answers 404 for a model that is not in Models.
	Strict bool `json:"strict,omitempty" yaml:"strict,omitempty"`
	// Keys that are accepted. Empty: any key, but one must be sent.
	Keys []string `json:"keys,omitempty" yaml:"keys,omitempty"`
	// Free makes the 429s name the free tier's quotas, whose day quota comes
	// with a misleading hint of seconds.
	Free     bool     `json:"free,omitempty" yaml:"free,omitempty"`
	Counting Counting `json:"counting,omitempty" yaml:"counting,omitempty"` // default: SlidingMinute
	// CountRefused makes a 429 use up a request of the minute and of the day.
	CountRefused bool    `json:"count_refused,omitempty" yaml:"count_refused,omitempty"`
	Spend        Spend   `json:"spend,omitzero" yaml:"spend,omitempty"`
	Latency      Latency `json:"latency,omitzero" yaml:"latency,omitempty"`
	Faults       []Fault `json:"faults,omitempty" yaml:"faults,omitempty"`
	Seed         uint64  `json:"seed,omitempty" yaml:"seed,omitempty"`
	// IDPattern finds a row's id in a prompt for the account: its first group,
	// or the whole match. Empty: what follows `id:`, `id=` or `"id":`.
	IDPattern string `json:"id_pattern,omitempty" yaml:"id_pattern,omitempty"`
	// KeepCalls bounds the account of calls; 0 keeps all. The amounts behind
	// MaxInWindow are kept in any case.
	KeepCalls int `json:"keep_calls,omitempty" yaml:"keep_calls,omitempty"`
	// Now is the server's clock; nil: time.Now. Delays use timers in any case.
	Now func() time.Time `json:"-" yaml:"-"`
}

// Model is one model and the quotas that the project has for it.
type Model struct {
	Name string `json:"name" yaml:"name"`
	// Bucket is the name that quotas are counted under and that 429s give,
	// shared by variants of a model; empty: Name. The limits of the first
	// model of a bucket hold.
	Bucket        string `json:"bucket,omitempty" yaml:"bucket,omitempty"`
	Limits        Limits `json:"limits,omitzero" yaml:"limits,omitempty"`
	ContextTokens int64  `json:"context_tokens,omitempty" yaml:"context_tokens,omitempty"` // default 1,048,576; 8,192 when it embeds
	OutputTokens  int64  `json:"output_tokens,omitempty" yaml:"output_tokens,omitempty"`   // largest answer, thoughts included; default 65,536
	// ThinkingTokens is the median of what the model thinks before it answers; 0: it does not.
	ThinkingTokens int64 `json:"thinking_tokens,omitempty" yaml:"thinking_tokens,omitempty"`
	// AnswerTokens is the length that plain text is brought up to; 0: a sentence or two.
	AnswerTokens int64 `json:"answer_tokens,omitempty" yaml:"answer_tokens,omitempty"`
	// CacheTokens is the shortest prefix that implicit caching serves; 0: 4,096, negative: none.
	CacheTokens int64 `json:"cache_tokens,omitempty" yaml:"cache_tokens,omitempty"`
	Price       Price `json:"price,omitzero" yaml:"price,omitempty"`
	Dimensions  int   `json:"dimensions,omitempty" yaml:"dimensions,omitempty"` // of an embedding; default 3,072
	Embeds      bool  `json:"embeds,omitempty" yaml:"embeds,omitempty"`         // an embedding model: it cannot generate
}

// Limits of one model. 0: no limit; negative: the tier has no quota for the
// model, which Gemini answers with "limit: 0".
type Limits struct {
	RPM         int64 `json:"rpm,omitempty" yaml:"rpm,omitempty"`
	InputTPM    int64 `json:"input_tpm,omitempty" yaml:"input_tpm,omitempty"`
	RPD         int64 `json:"rpd,omitempty" yaml:"rpd,omitempty"` // from one Pacific midnight to the next
	Concurrency int64 `json:"concurrency,omitempty" yaml:"concurrency,omitempty"`
}

// Price is in US dollars for a million tokens, which is micro-dollars a token.
type Price struct {
	Input  float64 `json:"input,omitempty" yaml:"input,omitempty"`
	Output float64 `json:"output,omitempty" yaml:"output,omitempty"` // thoughts included
	Cached float64 `json:"cached,omitempty" yaml:"cached,omitempty"`
}

// Spend limits the money of the whole project, in US dollars; 0: no limit.
type Spend struct {
	TenMinutes float64 `json:"ten_minutes,omitempty" yaml:"ten_minutes,omitempty"` // rolling
	Month      float64 `json:"month,omitempty" yaml:"month,omitempty"`             // calendar month, Pacific
}

// Counting is how the server adds up what a minute has used.
type Counting string

// The ways of counting.
const (
	SlidingMinute Counting = "sliding_minute" // exact, over the last 60 s
	FixedMinute   Counting = "fixed_minute"   // from one full minute to the next
	TokenBucket   Counting = "token_bucket"   // holds a minute's limit, refills evenly
)

// check fills what was left out and names the first field that is wrong.
func (c *Config) check() error {
	if c.Models == nil {
		c.Models = DefaultModels()
	}
	c.Counting = cmp.Or(c.Counting, SlidingMinute)
	c.Latency.SlowFactor = cmp.Or(c.Latency.SlowFactor, 10)
	if _, ok := newMeter[c.Counting]; !ok {
		return fmt.Errorf("counting: %q is none of sliding_minute, fixed_minute, token_bucket", c.Counting)
	}
	if _, err := regexp.Compile(c.IDPattern); err != nil {
		return fmt.Errorf("id_pattern: %w", err)
	}
	for i := range c.Models {
		if c.Models[i].Name == "" {
			return fmt.Errorf("models[%d].name is empty", i)
		}
	}
	for i := range c.Faults {
		if err := c.Faults[i].check(); err != nil {
			return fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	return nil
}

// filled gives the model with its defaults.
func (m Model) filled() Model {
	m.Bucket = cmp.Or(m.Bucket, m.Name)
	context := int64(1 << 20)
	if m.Embeds {
		context = 8192
	}
	m.ContextTokens = cmp.Or(m.ContextTokens, context)
	m.OutputTokens = cmp.Or(m.OutputTokens, 65536)
	m.CacheTokens = cmp.Or(m.CacheTokens, 4096)
	m.Dimensions = cmp.Or(m.Dimensions, 3072)
	return m
}
