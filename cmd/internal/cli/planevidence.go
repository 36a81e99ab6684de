package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// evidenceRows bounds the results of an earlier run that are read: the mean of a
// thousand is known well enough.
const evidenceRows = 1000

// leastTried is how many results of an earlier run say something.
const leastTried = 5

// evidence finds what tells most about a batch: rows of the same prompt that were
// made, else what the feature's calls taught, else the cap. be is nil where no
// shared state is there. The run of the id but says nothing: it has only begun, and
// its first rows are no fair part of all.
func (l *loaded) evidence(ctx context.Context, be *backend, b *batch, but string) (evidence, error) {
	most, err := b.meanCap(l)
	e := evidence{source: jobs.PlannedCap, most: most}
	if n := len(b.sampled); err == nil && (n >= leastTried || n > 0 && int64(n) == b.Rows) {
		e.source, e.tried, e.from = jobs.PlannedSample, b.sampled, fmt.Sprintf("a sample of %d rows", n)
		return e, nil
	}
	if err != nil || be == nil {
		return e, err
	}
	tried, err := be.triedBefore(ctx, b, but)
	if err != nil || tried.source != "" && !tried.foreign {
		tried.most = most
		return tried, err
	}
	t, err := gemini.ReadTaught(ctx, be.rdb, b.quota.lane, b.Spec.Feature)
	if tried.source != "" {
		tried.most, tried.taught = most, t // what the answers take, and the prompts
		return tried, err
	}
	if err != nil || t == nil {
		return e, err
	}
	e.source, e.taught = jobs.PlannedLearned, t
	e.from = fmt.Sprintf("the last %s calls for %s, whatever they asked", humanize.Comma(t.Calls), b.Spec.Feature)
	return e, nil
}

// meanCap is how many tokens an answer may have, in the mean of a row's outputs.
func (l *loaded) meanCap(s jobs.Spec) (int64, error) {
	if s.MaxOutput() == 0 && (s.Lines != "" || !s.HasCap()) {
		return l.longestAnswer(s)
	}
	each := s.EachSettings()
	var all int64
	for _, one := range each {
		s.Outputs, s.Settings = nil, one
		most, err := l.longestAnswer(s)
		if err != nil {
			return 0, err
		}
		all += most
	}
	n := int64(len(each))
	return (all + n - 1) / n, nil
}

// saysMore compares runs that were tried: rows of this input say more than those of
// another, then the more the better.
func (e evidence) saysMore(than evidence) bool {
	if than.source == "" || e.foreign != than.foreign {
		return than.source == "" || !e.foreign
	}
	return len(e.tried) > len(than.tried)
}

// triedBefore is what good results of a run with the same prompt, model and settings
// took: of the one that says most, of several such of the latest; the zero evidence
// where there are too few.
func (b *backend) triedBefore(ctx context.Context, p *batch, but string) (most evidence, err error) {
	runs, err := b.ourRuns(ctx)
	if err != nil {
		return most, err
	}
	for _, r := range runs {
		if r.Digest != p.Digest || r.ID == but {
			continue
		}
		tried, keys, err := b.tried(ctx, r.ID)
		if err != nil {
			return most, err
		}
		if len(tried) == 0 || len(tried) < leastTried && int64(len(tried)) < r.Rows {
			continue
		}
		e := evidence{source: jobs.PlannedFormer, tried: tried, foreign: p.Asks(keys) < len(tried), from: fmt.Sprintf("%s rows of run %s", humanize.Comma(int64(len(tried))), r.Title())}
		if r.Spec.Sample {
			e.source, e.from = jobs.PlannedSample, fmt.Sprintf("a sample of %d rows", len(tried))
		}
		if e.saysMore(most) {
			most = e
		}
		if len(most.tried) >= evidenceRows && !most.foreign {
			break
		}
	}
	return most, nil
}

var errEnough = errors.New("enough was read")

// tried reads what a run's good results took, as many as say enough, and the keys of
// their rows.
func (b *backend) tried(ctx context.Context, run string) (out []gemini.Usage, keys []string, err error) {
	err = b.store.Results(ctx, run, jobs.ResultsOptions{States: []jobs.State{jobs.Done}}, func(r jobs.Result) error {
		if r.Usage != nil {
			out, keys = append(out, usageOf(*r.Usage)), append(keys, r.Key)
		}
		if len(out) >= evidenceRows {
			return errEnough
		}
		return nil
	})
	var elsewhere *jobs.DrainedElsewhereError
	if errors.Is(err, errEnough) || errors.As(err, &elsewhere) {
		err = nil
	}
	return out, keys, err
}

// usageOf is a result's usage as it is priced.
func usageOf(u jobs.Usage) gemini.Usage {
	return gemini.Usage{Prompt: u.Prompt, Cached: u.Cached, Candidates: u.Output, Thoughts: u.Thoughts, ToolUse: u.ToolUse, Total: u.Total}
}
