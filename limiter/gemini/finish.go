package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"nightshift/limiter"
)

// answered takes an answer: a good stream is passed on as it comes, all else is
// read here, while nothing of it has been lost yet.
func (c *call) answered(resp *http.Response) (*http.Response, error) {
	c.obs.Status = resp.StatusCode
	if resp.StatusCode/100 == 2 && c.route.rule.stream {
		c.flowing = true
		resp.Body = c.watch(resp)
		return resp, nil
	}
	body, err := readAnswer(resp, c.t.cfg.Bounds.Answer)
	if err != nil {
		return nil, c.lost(err)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.finished(resp, body)
	return resp, nil
}

func readAnswer(resp *http.Response, bound int64) ([]byte, error) {
	defer resp.Body.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(max(resp.ContentLength, 0), bound)+bytes.MinRead))
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, bound+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if n > bound {
		return nil, fmt.Errorf("the answer is larger than %d bytes", bound)
	}
	return buf.Bytes(), nil
}

// finished ends a call whose answer is there in full.
func (c *call) finished(resp *http.Response, body []byte) {
	a := newAnswer()
	if resp.StatusCode/100 == 2 {
		a.push(body)
	}
	c.end(a, Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil)
	if c.keeper() != nil {
		c.keep(body)
	}
}

// lost ends a call that was sent, perhaps, and got no whole answer.
func (c *call) lost(err error) error {
	err = redactError(err, c.key)
	c.end(newAnswer(), Answer{Status: c.obs.Status, Err: err}, err)
	return err
}

// end classifies, tells what follows, settles and keeps the record: once.
func (c *call) end(a *answer, got Answer, err error) {
	c.ended.Do(func() {
		c.obs.Took = c.t.cfg.Now().Sub(c.sentAt)
		c.obs.Usage, c.obs.HasUsage, c.obs.Finish = a.usage, a.hasUsage, a.finish
		c.judge(a, got)
		c.follow() // before the permit ends, with which a look does
		c.settleEnd(a, got)
		c.leaveSoft()
		c.report()
		c.keepUnexplained(a, got)
		c.record(err)
		if c.unbound != nil {
			c.unbound()
		}
	})
}

// judge fills the verdict. A sender's panic and errors have no answer to look at.
func (c *call) judge(a *answer, got Answer) {
	now := c.t.cfg.Now()
	if got.Err == nil && got.Status/100 == 2 {
		if v := judgeAnswer(a, c.route, got.Header, now); v != nil {
			*v = flexVerdict(*v, c.guess.tier)
			c.obs.Verdict = v
		}
		return
	}
	v := flexVerdict(Classify(got, now), c.guess.tier)
	if c.neverFits(v) {
		v = Verdict{Kind: Permanent, Scope: ScopeJob, Reason: reasonNeverFits, Limit: v.Limit, Bucket: v.Bucket, Evidence: v.Evidence}
	}
	if c.route.wrongMethod(v) {
		v.Scope = ScopeJob
	}
	c.obs.Verdict = &v
	if got.Status >= 400 {
		c.obs.Decision = limiter.AdmittedThenProviderRejected
	}
}

// reasonNeverFits is the verdict's reason for what is larger than the limit.
const reasonNeverFits = "larger_than_limit"

// neverFits holds for a request that is larger by itself than the minute's
// tokens that the provider names: waiting cannot help it.
func (c *call) neverFits(v Verdict) bool {
	return v.Kind == Wait && v.Reason == "input_tpm" && v.Limit > 0 && c.guess.Least > v.Limit
}

// settleEnd settles by what the provider counted, or may have counted.
func (c *call) settleEnd(a *answer, got Answer) {
	if !c.route.rule.tokens || c.sentAt.IsZero() && c.obs.Permit == nil {
		return
	}
	if got.Err != nil && c.reach != nil && !c.reach.sent() {
		c.obs.Sent--
		c.settle(limiter.Released, limiter.Amounts{})
		return
	}
	c.obs.Used = c.used(a, got)
	c.settle(limiter.Settled, c.obs.Used)
	c.learn(a, got)
}

// used is what the call took. Where the provider did not say, what is charged is
// assumed (assume): nothing but input for what it refused, since failed calls are not
// billed but do count in the quota (https://ai.google.dev/gemini-api/docs/billing).
func (c *call) used(a *answer, got Answer) limiter.Amounts {
	used := c.obs.Estimate
	switch {
	case a.hasUsage:
		c.fillUsage(&used, a, got)
	case got.Err == nil && (got.Status >= 400 || a.failed()):
		used[limiter.OutputTokens], used[limiter.MicroUSD], used[limiter.Images] = 0, 0, 0
	case c.route.method == "embedContent" || c.route.method == "batchEmbedContents" || c.route.method == "predict":
		c.priceOf(Usage{Prompt: used[limiter.InputTokens], PromptByModality: c.guess.media})
		used[limiter.MicroUSD] = c.obs.MicroUSD
	default:
		c.assume(&used)
	}
	used[limiter.TotalTokens] = used[limiter.InputTokens] + used[limiter.OutputTokens]
	return used
}

// assumedOutput is the most tokens that an answer which broke off is charged for
// while nothing is learned of its feature's: the longest answer of models that did
// not think yet. The largest that may be, for which it was held, is hardly ever
// reached, and a few dozen broken answers would look like a month's money.
const assumedOutput = 8192

// assume prices a call of which nobody knows what it took, an answer that broke off
// or a connection that did: the estimated input, and output as such calls had so far.
func (c *call) assume(used *limiter.Amounts) {
	held := used[limiter.MicroUSD]
	if held == 0 {
		return
	}
	c.obs.Assumed = true
	c.priceOf(Usage{Prompt: used[limiter.InputTokens], PromptByModality: c.guess.media,
		Candidates: min(used[limiter.OutputTokens], assumedOutput), Tier: c.guess.tier})
	used[limiter.MicroUSD] = min(held, c.obs.MicroUSD)
}

func (c *call) fillUsage(used *limiter.Amounts, a *answer, got Answer) {
	u := a.usage
	u.Tier, u.Searches = servedTier(got.Header, u.Tier, c.guess.tier), a.searches
	c.obs.Usage = u
	used[limiter.InputTokens], used[limiter.OutputTokens] = u.Input(), u.Output()
	c.priceOf(u)
	used[limiter.MicroUSD] = c.obs.MicroUSD
}

func (c *call) learn(a *answer, got Answer) {
	if a.usage.Mismatch {
		c.t.mismatch(c.obs, a.usage)
	}
	if a.hasUsage && got.Err == nil {
		c.t.cfg.Estimator.Learn(c.ask, c.guess, c.obs.Usage, a.finished > 0)
	}
}

// settle outlives the caller's cancellation. Without a permit there is nothing to
// settle. What the shared state does not take is offered again later, and the
// caller has its answer meanwhile.
func (c *call) settle(outcome limiter.Outcome, used limiter.Amounts) {
	p := c.obs.Permit
	if p == nil {
		c.oweSoft(outcome, used)
		return
	}
	if !c.again {
		c.t.cfg.Metrics.settle(p, outcome, used)
	}
	s := limiter.Settlement{ID: p.ID, Lane: p.Lane, Outcome: outcome, Used: used}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	if err := c.t.cfg.Gate.Settle(ctx, s); err != nil {
		c.t.late.keep(s, p.Expires.Sub(p.Granted), err)
	}
}

var errAbandoned = errors.New("the stream was closed before its end")
