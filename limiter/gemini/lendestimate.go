package gemini

import (
	"net/http"

	"nightshift/limiter"
)

// lentRules are methods that no Transport passes and permits are lent for: a
// session of the Live API, and a batch, which is a request for each of its own.
var lentRules = map[string]rule{
	"bidiGenerateContent":  {verb: http.MethodGet, tokens: true},
	"batchGenerateContent": {verb: http.MethodPost, tokens: true},
}

// lentRoute is where a call that a permit is asked for would go.
func lentRoute(model, method string) (route, error) {
	r, ok := rules[method]
	if !ok || !r.tokens {
		r, ok = lentRules[method]
	}
	switch {
	case !ok:
		return route{}, refuse(http.StatusBadRequest, "method: %.80q takes no permit; want generateContent, streamGenerateContent, embedContent, "+
			"batchEmbedContents, bidiGenerateContent or batchGenerateContent", method)
	case !validModel(NormalizeModel(model)):
		return route{}, refuse(http.StatusBadRequest, "model: %.80q is not a model", model)
	}
	return route{model: NormalizeModel(model), method: method, rule: r}, nil
}

// given estimates a call by what its maker says of it. Output that it does not
// say is what such calls had so far.
func (e *Estimator) given(a Ask, x LoanAmounts) Estimate {
	most := a.Model.MaxOutput
	if embeds(a.Model.Name) {
		most = 0
	}
	in, out := max(0, x.InputTokens), x.OutputTokens
	if out < 0 {
		out = most * max(1, x.Requests)
		if n, ok := e.Learning.output(pairKey{a.Lane, a.Feature}, e.quantile(a.Class)); ok {
			out = min(out, n*max(1, x.Requests))
		}
	} else {
		most = out
	}
	got := Estimate{Input: in, Output: max(out, most), Least: in, answers: 1}
	got.Amounts = limiter.Amounts{
		limiter.Requests: max(1, x.Requests), limiter.InputTokens: in, limiter.OutputTokens: out,
		limiter.TotalTokens: in + out, limiter.Images: max(0, x.Images), limiter.Concurrency: 1,
	}
	if rules[a.Method].stream || a.Method == "bidiGenerateContent" {
		got.Amounts[limiter.Streams] = 1
	}
	got.Amounts[limiter.MicroUSD] = e.money(a, Usage{Prompt: in, Candidates: got.Output, OutputByModality: Modalities{Image: max(0, x.Images) * heldImage}})
	return got
}

// lentGuess is an Estimate as it waits for the end of its loan, for what may be
// learned then.
type lentGuess struct {
	Input   int64      `json:"input,omitempty"`
	Output  int64      `json:"output,omitempty"`
	Least   int64      `json:"least,omitempty"`
	Cache   string     `json:"cache,omitempty"`
	Media   Modalities `json:"media,omitzero"`
	Shape   [5]float64 `json:"shape,omitzero"`
	Answers int64      `json:"answers,omitempty"`
}

func (e Estimate) lent() lentGuess {
	s := e.shape
	return lentGuess{e.Input, e.Output, e.Least, e.cache, e.media, [5]float64{s.words, s.signs, s.han, s.foreign, s.media}, e.answers}
}

func (g lentGuess) estimate(amounts limiter.Amounts) Estimate {
	s := g.Shape
	return Estimate{
		Amounts: amounts, Input: g.Input, Output: g.Output, Least: g.Least, cache: g.Cache, media: g.Media,
		shape: shape{words: s[0], signs: s[1], han: s[2], foreign: s[3], media: s[4]}, answers: g.Answers,
	}
}
