package gemini

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// features are samples by feature for a ranking: added up over all lanes where that is
// kept and no model is asked for.
func (h *History) features(ctx context.Context, q WhoQuery) ([]UsageSample, time.Duration, error) {
	now, err := h.now(ctx)
	if err != nil {
		return nil, 0, err
	}
	if q.Model == "" && !q.From.Before(now.Add(-tierFine.kept+tierFine.block)) {
		if got, whole, err := h.users(ctx, q.From, q.To, now); whole && err == nil {
			return got, time.Minute, nil
		}
	}
	return h.samples(ctx, GroupFeature, q.From, q.To)
}

// samples gives what was counted by model, class and feature, or tenant (as Feature),
// in steps of a minute where these are kept, else of five; those of a step that the
// interval touches are whole.
func (h *History) samples(ctx context.Context, by GroupBy, from, to time.Time) ([]UsageSample, time.Duration, error) {
	now, err := h.now(ctx)
	if err != nil {
		return nil, 0, err
	}
	since := func(kept time.Duration) bool { return !from.Before(now.Add(-kept + tierFine.block)) }
	if by != GroupTenant && since(tierFine.kept) {
		got, err := ReadMeter(ctx, h.rdb, h.scope, StepMinute, from, to)
		return got, time.Minute, err
	}
	step := tierCoarse.step
	if by == GroupTenant && since(tierFine.keeps(viewTenants)) {
		step = time.Minute
	}
	got, err := h.detailed(ctx, by, from.Truncate(step), to.Add(step-1).Truncate(step), step)
	return got, step, err
}

// Tenants gives what each tenant used by class, model and minute, with the tenant as
// Feature; calls of nobody named are in none.
func (h *History) Tenants(ctx context.Context, from, to time.Time) ([]UsageSample, error) {
	got, _, err := h.samples(ctx, GroupTenant, from, to)
	return got, err
}

// detailed makes samples of blocks. The reader's groups are the whole series.
func (h *History) detailed(ctx context.Context, by GroupBy, from, to time.Time, step time.Duration) ([]UsageSample, error) {
	q := HistoryQuery{From: from, To: to, By: by, Step: step}
	r, err := h.reader(ctx, q)
	if err != nil {
		return nil, err
	}
	r.whole = true
	if r.view = viewUse; by == GroupTenant {
		r.view = viewTenants
	}
	if err := r.read(ctx); err != nil {
		return nil, fmt.Errorf("gemini: history: %w", err)
	}
	var out []UsageSample
	for series, cols := range r.all.series {
		p := strings.Split(series, "|")
		region, model, _ := strings.Cut(p[0], "/")
		for i := range r.n {
			if cols.any(i) {
				s := UsageSample{At: from.Add(time.Duration(i) * step), Region: region, Model: model, Class: p[1], Feature: p[2]}
				s.fill(cols, i)
				out = append(out, s)
			}
		}
	}
	return out, nil
}
