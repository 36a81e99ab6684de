package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// moneyKept is how long a day's money is there after its last call: a quarter can
// be closed from it.
const moneyKept = 100 * 24 * time.Hour

// MoneySample is what calls of one kind cost in one day. A call belongs to the day
// in which its money was held, whenever it ended.
type MoneySample struct {
	Day     string `json:"day"` // 2026-11-30, in the zone of months
	Model   string `json:"model"`
	Class   string `json:"class"`
	Feature string `json:"feature"` // OtherFeature, as tenant and run, beyond what a day tells apart
	Tenant  string `json:"tenant"`  // "" for calls of no tenant
	Run     string `json:"run"`     // "" for calls of no run
	Tier    string `json:"tier"`    // that served: "standard", "flex", …; TierNone of calls that were refused

	MicroUSD     int64 `json:"micro_usd"` // by the price book, else as settled
	Calls        int64 `json:"calls"`     // that were sent
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// moneyKey is whose money is counted together.
type moneyKey struct {
	day, model, class, feature, tenant, run string
	tier                                    string // "" for standard
}

func (k moneyKey) field() string {
	parts := []string{k.model, k.class, k.feature, k.tenant, k.run, k.tier}
	if k.tier == "" {
		parts = parts[:5]
	}
	return strings.Join(parts, "|")
}

// other is the key that takes what a full day cannot tell apart.
func (k moneyKey) other() moneyKey {
	k.feature, k.tenant, k.run = OtherFeature, OtherFeature, OtherFeature
	return k
}

type moneyCount [4]int64 // as MoneySample has them

type moneyRow struct {
	key moneyKey
	*moneyCount
}

func (c *moneyCount) pack() string {
	text, _ := json.Marshal(c) // integers always can be written
	return string(text)
}

// noteMoney counts what a call cost. One that never went out costs nothing.
func (m *Meter) noteMoney(r Record, key usageKey) {
	if !r.Sent {
		return
	}
	var s UsageSample
	s.countUse(r)
	_, model, _ := strings.Cut(key.lane, "/")
	at := r.Held
	if at.IsZero() { // passed without a permit
		at = r.Time
	}
	if at.IsZero() {
		at = m.opts.Now()
	}
	k := moneyKey{at.In(m.opts.Zone).Format(time.DateOnly), model, key.class, key.feature, label(r.Path.Tenant, 64), label(r.Run, 64), tierField(r.servedBy())}
	c := m.moneyOf(k)
	for i, n := range []int64{s.MicroUSD, 1, s.InputTokens, s.OutputTokens} {
		c[i] += n
	}
}

// TierNone is that of calls which the provider refused: no tier served them.
const TierNone = "none"

// standardTier serves what asks for nothing else.
const standardTier = "standard"

// tierField is a tier in a key, where standard is nothing.
func tierField(tier string) string {
	if tier == standardTier {
		return ""
	}
	return label(tier, 32)
}

func (r Record) servedBy() string {
	switch {
	case r.Usage != nil:
		return r.Usage.Tier
	case r.Status >= 400:
		return TierNone
	}
	return ""
}

// moneyOf finds a count, and with too many of them the one of the rest.
func (m *Meter) moneyOf(k moneyKey) *moneyCount {
	if m.money[k] == nil && len(m.money) >= m.opts.Pending {
		k = k.other()
	}
	if m.money[k] == nil {
		m.money[k] = &moneyCount{}
	}
	return m.money[k]
}

// takeMoney gives what goes with the next parcel.
func (m *Meter) takeMoney() (out []moneyRow) {
	for k, c := range m.money {
		if len(out) == parcelRows {
			break
		}
		out = append(out, moneyRow{k, c})
		delete(m.money, k)
	}
	return out
}

// ReadMoney gives what calls cost in the days from..to (as MoneySample.Day), by
// day, model, class, feature, tenant, run and tier.
func ReadMoney(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, from, to time.Time) ([]MoneySample, error) {
	return readMoney(ctx, rdb, scope, from, to)
}

// ReadMoneyOf is ReadMoney of one run alone: what others cost is not sent, however many
// there are.
func ReadMoneyOf(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, from, to time.Time, run string) ([]MoneySample, error) {
	return readMoney(ctx, rdb, scope, from, to, wantedFields("^[^|]*|[^|]*|[^|]*|[^|]*|([^|]*)", run)...)
}

func readMoney(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, from, to time.Time, only ...any) ([]MoneySample, error) {
	var days, keys []string
	for d := from; d.Format(time.DateOnly) <= to.Format(time.DateOnly); d = d.AddDate(0, 0, 1) {
		days = append(days, d.Format(time.DateOnly))
		keys = append(keys, newMeterKeys(scope).root+":money:"+d.Format(time.DateOnly))
		if len(days) > int(moneyKept/(24*time.Hour))+1 {
			return nil, fmt.Errorf("gemini: money is kept for %d days", int(moneyKept/(24*time.Hour)))
		}
	}
	buckets, err := meterReadScript.Run(ctx, rdb, keys, only...).Slice()
	if err != nil {
		return nil, fmt.Errorf("gemini: money: %w", err)
	}
	var out []MoneySample
	for i, b := range buckets {
		samples, err := readMoneyDay(days[i], b)
		if err != nil {
			return nil, fmt.Errorf("gemini: money of %s: %w", days[i], err)
		}
		out = append(out, samples...)
	}
	return out, nil
}

// RestoreMoney puts back samples that ReadMoney gave, as after a store in memory
// was lost. What is counted there already stays.
func RestoreMoney(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, samples []MoneySample) error {
	for _, s := range samples {
		k := moneyKey{s.Day, s.Model, s.Class, s.Feature, s.Tenant, s.Run, tierField(s.Tier)}
		c := moneyCount{s.MicroUSD, s.Calls, s.InputTokens, s.OutputTokens}
		key := newMeterKeys(scope).root + ":money:" + s.Day
		if err := rdb.HSetNX(ctx, key, k.field(), c.pack()).Err(); err != nil {
			return fmt.Errorf("gemini: money of %s: %w", s.Day, err)
		}
		if err := rdb.PExpire(ctx, key, moneyKept).Err(); err != nil {
			return fmt.Errorf("gemini: money of %s: %w", s.Day, err)
		}
	}
	return nil
}

func readMoneyDay(day string, bucket any) ([]MoneySample, error) {
	flat, ok := bucket.([]any)
	if !ok {
		return nil, fmt.Errorf("a day is %T", bucket)
	}
	var out []MoneySample
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		text, _ := flat[i+1].(string)
		p := strings.Split(field, "|")
		var c moneyCount
		if err := json.Unmarshal([]byte(text), &c); err != nil || len(p) < 5 || len(p) > 6 {
			return nil, fmt.Errorf("%q is stored as %q", field, text)
		}
		tier := standardTier
		if len(p) == 6 {
			tier = p[5]
		}
		out = append(out, MoneySample{Day: day, Model: p[0], Class: p[1], Feature: p[2], Tenant: p[3], Run: p[4], Tier: tier,
			MicroUSD: c[0], Calls: c[1], InputTokens: c[2], OutputTokens: c[3]})
	}
	slices.SortFunc(out, func(a, b MoneySample) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Class, b.Class), strings.Compare(a.Feature, b.Feature),
			strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Run, b.Run), strings.Compare(a.Tier, b.Tier))
	})
	return out, nil
}
