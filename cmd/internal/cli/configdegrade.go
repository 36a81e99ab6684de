package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter/gemini"
)

// DegradeConfig says what callers of the gateway get when there is no answer of
// their model for them. Without rules they get the refusal.
type DegradeConfig struct {
	Rules  []DegradeRuleConfig `yaml:"rules"`  // the first one that fits class, feature and cause applies
	Models []DegradePairConfig `yaml:"models"` // which model may answer for which
	Cache  DegradeCacheConfig  `yaml:"cache"`  // earlier answers; off without ttl
}

// DegradeRuleConfig is what is tried for the calls of a class and feature.
type DegradeRuleConfig struct {
	Class   string   `yaml:"class"`   //
	Feature string   `yaml:"feature"` // absent: every feature
	On      []string `yaml:"on"`      // causes, as gemini.DegradeCauses names them; absent: all
	Try     []string `yaml:"try"`     // cached, light, model, canned, in the order in which they are tried
	Light   string   `yaml:"light"`   // file with a Go text/template over gemini.LightCall
	Canned  string   `yaml:"canned"`  // file with a text, or with a whole answer in Gemini's shape (.json)
}

// DegradePairConfig declares that a model may answer for another.
type DegradePairConfig struct {
	From           string   `yaml:"from"`            //
	To             string   `yaml:"to"`              //
	Compatible     []string `yaml:"compatible"`      // residency (must be), context, tools, schema
	ThinkingBudget *int64   `yaml:"thinking_budget"` // tokens, in the place of what requests say
	ThinkingLevel  string   `yaml:"thinking_level"`  // likewise, for models that take a level
	Drop           []string `yaml:"drop"`            // fields of generationConfig that To does not take
}

// DegradeCacheConfig says how long and how many answers are kept. They hold what
// models wrote, in Redis and in the clear, so nothing is kept by default.
type DegradeCacheConfig struct {
	TTL      time.Duration `yaml:"ttl"`       // how old an answer may be; 0 keeps none
	MaxBytes string        `yaml:"max_bytes"` // of all answers together, as in 64MB, which is the default
}

// mostCanned bounds the files of canned and light answers.
const mostCanned = 256 << 10

// checkDegrade builds what the gateway would use.
func (c *Config) checkDegrade() error {
	d := &c.Degrade
	switch {
	case len(d.Rules) == 0 && d.Cache != (DegradeCacheConfig{}):
		return fmt.Errorf("degrade.cache: there are no rules that try cached: add one to degrade.rules, or leave it out")
	case len(d.Rules) == 0 && len(d.Models) == 0:
		return nil
	}
	lanes, err := (&loaded{Config: *c}).laneMap()
	if err != nil {
		return nil // models has its own check, which says it better
	}
	_, err = c.fallbacks(lanes)
	return err
}

// fallbacks are the rules as the transport takes them, but for the cache, whose
// place is taken.
func (c *Config) fallbacks(lanes *gemini.LaneMap) (gemini.FallbacksConfig, error) {
	f := gemini.FallbacksConfig{Lanes: lanes}
	if _, err := c.Degrade.Cache.options(); err != nil {
		return f, err
	}
	if c.Degrade.Cache.TTL > 0 {
		f.Cache = noAnswers{}
	}
	for i, r := range c.Degrade.Rules {
		rule, err := c.degradeRule(r)
		if err != nil {
			return f, fmt.Errorf("degrade.rules[%d].%w", i, err)
		}
		f.Rules = append(f.Rules, rule)
	}
	for i, p := range c.Degrade.Models {
		pair, err := p.pair()
		if err != nil {
			return f, fmt.Errorf("degrade.models[%d].%w", i, err)
		}
		f.Models = append(f.Models, pair)
	}
	if _, err := gemini.NewFallbacks(f); err != nil && len(f.Rules) > 0 {
		return f, fmt.Errorf("degrade.%w", err)
	}
	rows := f
	rows.Rules = rowRules()
	if _, err := gemini.NewFallbacks(rows); err != nil && len(f.Models) > 0 {
		return f, fmt.Errorf("degrade.%w", err)
	}
	return f, nil
}

// noAnswers stands for the cache while the configuration is checked.
type noAnswers struct{}

func (noAnswers) Get(context.Context, string) ([]byte, bool, error) { return nil, false, nil }
func (noAnswers) Put(context.Context, string, []byte) error         { return nil }

func (c *Config) degradeRule(r DegradeRuleConfig) (gemini.FallbackRule, error) {
	rule := gemini.FallbackRule{Class: r.Class, Feature: r.Feature}
	if err := firstError(oneOf("class", r.Class, classNames()...), c.degradeClass(r)); err != nil {
		return rule, err
	}
	if r.Feature != "" {
		if err := c.featureOK("feature", r.Feature); err != nil {
			return rule, err
		}
	}
	for _, cause := range r.On {
		rule.Causes = append(rule.Causes, gemini.DegradeCause(cause))
	}
	for _, kind := range r.Try {
		rule.Try = append(rule.Try, gemini.DegradeKind(kind))
	}
	return rule, firstError(readCanned(&rule, r.Canned), readLight(&rule, r.Light))
}

// degradeClass keeps made-up answers out of what is stored as results.
func (c *Config) degradeClass(r DegradeRuleConfig) error {
	for _, k := range c.classTable() {
		if k.Name == r.Class && k.Pausable && (slices.Contains(r.Try, "light") || slices.Contains(r.Try, "canned")) {
			return fmt.Errorf("try: class %s waits for its quota, and a light or canned answer would be kept as a result: want cached or model, or no rule", r.Class)
		}
	}
	return nil
}

func readCanned(rule *gemini.FallbackRule, file string) error {
	if file == "" {
		return nil
	}
	b, err := readAnswerFile("canned", file)
	if err != nil {
		return err
	}
	if filepath.Ext(file) == ".json" && !json.Valid(b) {
		return fmt.Errorf("canned: %s is no whole JSON; callers that ask for JSON could not read it", file)
	}
	rule.Canned = bytes.TrimSpace(b)
	return nil
}

func readLight(rule *gemini.FallbackRule, file string) error {
	if file == "" {
		return nil
	}
	b, err := readAnswerFile("light", file)
	if err != nil {
		return err
	}
	rule.Light, err = gemini.LightTemplate(file, string(b))
	if err != nil {
		return fmt.Errorf("light: %w; it may use .Class, .Feature, .Tenant, .Model, .Reason, .Text, .Retry", err)
	}
	return nil
}

func readAnswerFile(key, file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	switch {
	case os.IsNotExist(err):
		return nil, fmt.Errorf("%s: no file %s: write the answer into it, or name another", key, file)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key, err)
	case len(b) > mostCanned:
		return nil, fmt.Errorf("%s: %s has %d bytes; want at most %d", key, file, len(b), mostCanned)
	}
	return b, nil
}

func (p DegradePairConfig) pair() (gemini.ModelPair, error) {
	for _, word := range p.Compatible {
		if err := oneOf("compatible", word, "residency", "context", "tools", "schema"); err != nil {
			return gemini.ModelPair{}, err
		}
	}
	says := func(word string) bool { return slices.Contains(p.Compatible, word) }
	return gemini.ModelPair{
		From: p.From, To: p.To, Residency: says("residency"), Context: says("context"), Tools: says("tools"), Schema: says("schema"),
		ThinkingBudget: p.ThinkingBudget, ThinkingLevel: p.ThinkingLevel, Drop: p.Drop,
	}, nil
}

// leastAnswers is a cache that may still hold some answers.
const leastAnswers = 64 << 10

func (d DegradeCacheConfig) options() (o gemini.AnswerCacheOptions, err error) {
	switch {
	case d.TTL < 0 || d.TTL > 0 && d.TTL < time.Second:
		return o, fmt.Errorf("degrade.cache.ttl: %s; want at least 1s, or leave cache out to keep nothing", d.TTL)
	case d.TTL == 0 && d.MaxBytes != "":
		return o, fmt.Errorf("degrade.cache.ttl: absent, so nothing is kept: say how old an answer may be, as in 1h")
	case d.MaxBytes == "":
		return gemini.AnswerCacheOptions{TTL: d.TTL}, nil
	}
	n, err := humanize.ParseBytes(d.MaxBytes)
	if err != nil || n < leastAnswers || n > 1<<40 {
		return o, fmt.Errorf("degrade.cache.max_bytes: %q; want a size such as 64MB, at least 64KB", d.MaxBytes)
	}
	return gemini.AnswerCacheOptions{TTL: d.TTL, MaxBytes: int64(n)}, nil
}

// fallback is what the refusals of a class say that there is; "" for nothing.
func (d *DegradeConfig) fallback(class string) string {
	at := slices.IndexFunc(d.Rules, func(r DegradeRuleConfig) bool { return r.Class == class })
	if at < 0 {
		return ""
	}
	return strings.Join(d.Rules[at].Try, ", ")
}

// otherAfter is how long a row would have to wait before the other model that its
// run allows is asked: what passes sooner is what nights are made of.
const otherAfter = 5 * time.Minute

// rowRules are for rows of runs that allow another model: when money, the day or
// the model itself is out for long. What an operator paused stays so.
func rowRules() []gemini.FallbackRule {
	var rules []gemini.FallbackRule
	for _, k := range defaultClasses {
		if k.Tickets {
			rules = append(rules, gemini.FallbackRule{
				Class: k.Name, Named: true, After: otherAfter, Try: []gemini.DegradeKind{gemini.DegradedModel},
				Causes: []gemini.DegradeCause{gemini.CauseQuota, gemini.CauseCooldown, gemini.CauseBreaker, gemini.CauseSpend, gemini.CauseProviderQuota},
			})
		}
	}
	return rules
}

// degrader is what finds other answers: for the gateway's callers by the rules,
// for the rows of runs that allow it by another model. Nil is for nothing.
func (b *backend) degrader(process string, lanes *gemini.LaneMap) (gemini.Degrader, error) {
	d := &b.conf.Degrade
	if process == "gateway" && len(d.Rules) == 0 || process != "gateway" && len(d.Models) == 0 {
		return nil, nil
	}
	f, err := b.conf.fallbacks(lanes)
	if err != nil {
		return nil, configErrorf("%v", err)
	}
	f.Logger = b.log
	if process != "gateway" {
		f.Rules, f.Cache = rowRules(), nil
		return gemini.NewFallbacks(f)
	}
	if f.Cache != nil {
		options, err := b.conf.Degrade.Cache.options()
		if err != nil {
			return nil, configErrorf("%v", err)
		}
		f.Cache = gemini.NewAnswerCache(b.rdb, b.conf.scope(), options)
	}
	return gemini.NewFallbacks(f)
}
