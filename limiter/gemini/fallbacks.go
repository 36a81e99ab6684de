package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Answers keeps whole answers by name. *AnswerCache is one.
type Answers interface {
	Get(ctx context.Context, name string) (answer []byte, found bool, err error)
	Put(ctx context.Context, name string, answer []byte) error
}

// FallbackRule says what is tried for the calls of a class and feature.
type FallbackRule struct {
	Class   string         // "" fits every class
	Feature string         // "" fits every feature
	Causes  []DegradeCause // for these only; none: for all
	Try     []DegradeKind  // in this order, until there is an answer
	After   time.Duration  // only when the wait would be at least as long; 0: always
	Named   bool           // only calls whose caller names the other model (Caller.Other), and only that model
	Light   LightFunc      // for DegradedLight
	Canned  []byte         // for DegradedCanned: a text, or a whole answer in Gemini's shape
}

// FallbacksConfig says what Fallbacks try. Rules and Lanes must be set.
type FallbacksConfig struct {
	Rules  []FallbackRule // the first one that fits class, feature and cause says what is tried
	Models []ModelPair    // for DegradedModel: which may answer for which, the first that can
	Lanes  *LaneMap       // the transport's
	Cache  Answers        // for DegradedCached; nil keeps nothing
	Logger *slog.Logger   // nil means none
}

// Fallbacks finds other answers by rules: an earlier one, the service's own,
// another model's, a canned one. It is the Degrader of the gateway and of
// services that have no path of their own. It is safe for concurrent use.
type Fallbacks struct {
	cfg     FallbacksConfig
	away    away          // the cache does not answer
	keeping chan struct{} // bounds what is kept at a time
	log     *slog.Logger
	trouble tally
}

// The cache may hold up neither a caller nor memory.
const (
	cacheWait = 250 * time.Millisecond // for one look
	keepWait  = 2 * time.Second        // to keep one
	keepMost  = 16                     // at a time; beyond that an answer is not kept
)

// NewFallbacks checks the configuration; an error names the field.
func NewFallbacks(cfg FallbacksConfig) (*Fallbacks, error) {
	cfg.Rules, cfg.Models = slices.Clone(cfg.Rules), slices.Clone(cfg.Models)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	f := &Fallbacks{cfg: cfg, log: cfg.Logger, keeping: make(chan struct{}, keepMost)}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f, nil
}

// Degrade tries what the first rule that fits says.
func (f *Fallbacks) Degrade(ctx context.Context, r DegradeRequest) (DegradedAnswer, bool, error) {
	rule := f.rule(r)
	if rule == nil {
		return DegradedAnswer{}, false, nil
	}
	var troubles []error
	for _, kind := range rule.Try {
		a, ok, err := f.step(ctx, kind, rule, r)
		if ok {
			a.Kind = kind
			return a, true, nil
		}
		troubles = append(troubles, err)
	}
	return DegradedAnswer{}, false, errors.Join(troubles...)
}

func (f *Fallbacks) rule(r DegradeRequest) *FallbackRule {
	for i := range f.cfg.Rules {
		if rule := &f.cfg.Rules[i]; rule.fits(r) && rule.applies(r) {
			return rule
		}
	}
	return nil
}

func (r *FallbackRule) fits(q DegradeRequest) bool {
	return (r.Class == "" || r.Class == q.Caller.Class) && (r.Feature == "" || r.Feature == q.Caller.Feature)
}

// applies says whether the rule is for why the call gets no answer.
func (r *FallbackRule) applies(q DegradeRequest) bool {
	return (len(r.Causes) == 0 || slices.Contains(r.Causes, q.Cause)) && q.wait() >= r.After && (!r.Named || q.Caller.Other != "")
}

func (f *Fallbacks) step(ctx context.Context, kind DegradeKind, rule *FallbackRule, r DegradeRequest) (DegradedAnswer, bool, error) {
	switch kind {
	case DegradedCached:
		return f.cached(ctx, r)
	case DegradedLight:
		text, err := rule.Light(ctx, r)
		return DegradedAnswer{Text: text}, err == nil && text != "" && askedOf(r.Body).takesText(text), err
	case DegradedModel:
		return f.otherModel(ctx, rule, r)
	}
	return cannedAnswer(rule.Canned, r)
}

// cannedAnswer tells a whole answer in Gemini's shape from a text.
func cannedAnswer(canned []byte, r DegradeRequest) (DegradedAnswer, bool, error) {
	var whole struct{ Candidates []json.RawMessage }
	if json.Unmarshal(canned, &whole) == nil && len(whole.Candidates) > 0 {
		return DegradedAnswer{Body: canned}, true, nil
	}
	text := string(canned)
	return DegradedAnswer{Text: text}, askedOf(r.Body).takesText(text), nil
}

// otherModel asks the models that may answer for this one. A refusal of theirs
// is one reason more to try what is next.
func (f *Fallbacks) otherModel(ctx context.Context, rule *FallbackRule, r DegradeRequest) (DegradedAnswer, bool, error) {
	var troubles []error
	for _, p := range f.cfg.Models {
		if p.From != r.Model.Name || rule.Named && !f.cfg.Lanes.same(p.To, r.Caller.Other) {
			continue
		}
		body, note, ok := p.translate(r.Body)
		if !ok {
			continue
		}
		resp, err := r.Call(ctx, p.To, body) //nolint:bodyclose // it is the answer: the caller closes it
		if err == nil {
			return DegradedAnswer{Response: resp, Model: p.To, Note: note}, true, nil
		}
		troubles = append(troubles, err)
	}
	return DegradedAnswer{}, false, errors.Join(troubles...)
}

// cached looks for an earlier answer to the same request of the same tenant.
// While Redis is away it is not looked for, so that other answers come at once.
func (f *Fallbacks) cached(ctx context.Context, r DegradeRequest) (DegradedAnswer, bool, error) {
	if f.cfg.Cache == nil || r.Cause == CauseUnavailable || f.away.known(time.Now(), time.Second) != nil {
		return DegradedAnswer{}, false, nil
	}
	name, ok := answerKey(r)
	if !ok {
		return DegradedAnswer{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cacheWait)
	defer cancel()
	body, found, err := f.cfg.Cache.Get(ctx, name)
	if err != nil {
		f.away.note(err, time.Now(), time.Second)
		return DegradedAnswer{}, false, err
	}
	f.away.clear()
	return DegradedAnswer{Body: body, Model: r.Model.Name}, found, nil
}

// Keeps says whether a rule may want the answer again.
func (f *Fallbacks) Keeps(r DegradeRequest) bool {
	return f.cfg.Cache != nil && slices.ContainsFunc(f.cfg.Rules, func(rule FallbackRule) bool {
		return rule.fits(r) && slices.Contains(rule.Try, DegradedCached)
	})
}

// Keep keeps an answer, while its caller goes on. When many are being kept it is
// passed over: the next one of the same request will do.
func (f *Fallbacks) Keep(ctx context.Context, r DegradeRequest, answer []byte) {
	name, ok := answerKey(r)
	if !ok {
		return
	}
	select {
	case f.keeping <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-f.keeping }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWait)
		defer cancel()
		if err := f.cfg.Cache.Put(ctx, name, answer); err != nil {
			f.complain(err)
		}
	}()
}

func (f *Fallbacks) complain(err error) {
	if n, due := f.trouble.note(time.Now()); due {
		f.log.Warn("answers cannot be kept for bad times", "answers", n, "error", fmt.Sprint(Redact(err.Error())))
	}
}
