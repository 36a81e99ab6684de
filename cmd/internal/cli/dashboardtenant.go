package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// addAccount says what is set of a tenant, and whether it is stopped.
func addAccount(v *dashboard.TenantView, a *tenants.Account, now time.Time) {
	if x := a.Stopped; x != nil {
		v.Level, v.Stopped = dashboard.Bad, "since "+clock(x.At, now)
		if !v.Asked.Own {
			v.Stopped += " by " + x.By
			if x.Reason != "" {
				v.Stopped += ": " + x.Reason
			}
		}
	}
	if a.Weight != nil {
		v.Facts = append(v.Facts, [2]string{"weight", strconv.FormatInt(*a.Weight, 10) + " among those who wait"})
	}
	if !a.Changed.IsZero() && !v.Asked.Own {
		v.Facts = append(v.Facts, [2]string{"changed", clock(a.Changed, now) + " by " + a.ChangedBy})
	}
}

func (d *dashboardNow) addTenantLimits(ctx context.Context, v *dashboard.TenantView) error {
	s, err := d.lim.NodeState(ctx, "tenant/"+v.Name)
	if errors.Is(err, limiter.ErrUnknownNode) {
		return nil
	}
	if err != nil {
		return err
	}
	if v.Path = pathView(s, v.At); v.Asked.Own {
		v.Path.From = ""
	}
	return nil
}

// addTenantUse adds up what was used in the time that is shown.
func (d *dashboardNow) addTenantUse(ctx context.Context, v *dashboard.TenantView) error {
	days, _ := strconv.Atoi(v.Asked.Days)
	q := tenants.UsageQuery{Tenant: v.Name, By: v.Asked.By, Step: "hour", From: v.At.Add(-time.Duration(days) * 24 * time.Hour).Truncate(time.Hour).Format(time.RFC3339)}
	if days > 7 {
		q.Step, q.From = "day", v.At.In(d.conf.spendZone()).AddDate(0, 0, 1-days).Format(time.DateOnly)
	}
	u, err := d.book.Usage(ctx, q)
	if err != nil {
		return err
	}
	names := keyNames(v)
	v.Use = useChart(u, names, v.At)
	v.Total = tenantUse(u.Total, u, names)
	for _, t := range u.Totals[:min(len(u.Totals), sumsOnPage)] {
		v.Sums = append(v.Sums, tenantUse(t, u, names))
	}
	v.SumsMore = len(u.Totals) - len(v.Sums)
	v.CSV = "/api/v1/tenants/" + url.PathEscape(v.Name) + "/usage?" + url.Values{"from": {q.From}, "step": {q.Step}, "by": {q.By}, "format": {"csv"}}.Encode()
	v.Command = fmt.Sprintf("nightshift tenants usage %s --by %s --step %s --from %s", shellWord(v.Name), q.By, q.Step, q.From)
	return nil
}

// keyNames are what keys are called, where these are told apart.
func keyNames(v *dashboard.TenantView) map[string]string {
	names := map[string]string{"": "(none)"}
	for _, k := range v.Keys {
		if v.Asked.By == "key" {
			names[k.ID] = k.Name + " (" + k.ID + ")"
		}
	}
	return names
}

func tenantUse(t tenants.UsageTotal, u *tenants.Usage, names map[string]string) dashboard.TenantUse {
	return dashboard.TenantUse{
		Name: orElse(names[t.Name], t.Name), Calls: t.Calls, Input: t.InputTokens, Output: t.OutputTokens, Refused: t.Refused, OwnLimit: t.OwnLimit, Provider: t.Provider429,
		Cost: usd(t.MicroUSD), Requests: number(t.Requests), Share: percent(ratio(t.MicroUSD, u.Total.MicroUSD)),
	}
}

// chartLines is how many names a chart tells apart.
const chartLines = 9

// useChart is requests by step.
func useChart(u *tenants.Usage, names map[string]string, now time.Time) dashboard.ChartView {
	step, of := time.Hour, "requests an hour"
	if u.Step == "day" {
		step, of = 24*time.Hour, "requests a day"
	}
	c := dashboard.ChartView{ID: "use", Title: "Requests by " + u.By, Of: of, Measure: dashboard.Count, Stack: len(u.Totals) > 1, Sum: true, From: u.From, Step: step}
	n := int(now.Sub(u.From)/step) + 1
	at := map[string]int{}
	for _, t := range u.Totals[:min(len(u.Totals), chartLines)] {
		at[t.Name] = len(c.Lines)
		c.Lines = append(c.Lines, dashboard.LineView{Name: orElse(names[t.Name], t.Name), Values: make([]float64, n), Total: number(t.Requests), Share: percent(ratio(t.Requests, u.Total.Requests))})
	}
	for _, r := range u.Rows {
		if i, ok := at[r.Name]; ok {
			// Days of 23 and 25 hours are rounded to the next.
			c.Lines[i].Values[min(n-1, int((r.From.Sub(u.From)+step/2)/step))] += float64(r.Requests)
		}
	}
	if len(u.Totals) > 0 && u.Total.MicroUSD > 0 {
		c.Facts = append(c.Facts, fmt.Sprintf("%s calls for %s in all; %s cost most, %s.", number(u.Total.Calls), usd(u.Total.MicroUSD), orElse(names[u.Totals[0].Name], u.Totals[0].Name), usd(u.Totals[0].MicroUSD)))
	}
	return c
}

// addTenantForecast works the month out from the tenant's own days, which are few to
// read however many others there are.
func (d *dashboardNow) addTenantForecast(ctx context.Context, v *dashboard.TenantView) error {
	now := v.At.In(d.conf.spendZone())
	got, err := gemini.ReadUse(ctx, d.rdb, d.conf.scope(), gemini.UseQuery{Tenant: v.Name, From: now.AddDate(0, 0, -32), To: now, Zone: d.conf.spendZone()})
	if err != nil {
		return err
	}
	var own []gemini.MoneySample
	for _, u := range got {
		own = append(own, gemini.MoneySample{Day: u.At.Format(time.DateOnly), MicroUSD: u.MicroUSD})
	}
	v.Forecast = d.asForecastView(gemini.ForecastSpend(own, now))
	return nil
}

func addTenantKeys(v *dashboard.TenantView, a *tenants.View) {
	for _, k := range slices.Backward(a.Keys[max(0, len(a.Keys)-keysOnPage):]) { // the latest first
		v.Keys = append(v.Keys, tenantKey(k, v.At))
	}
	v.KeysMore = len(a.Keys) - len(v.Keys)
	for _, t := range a.Teams[:min(len(a.Teams), teamsOnPage)] {
		x := dashboard.TenantTeam{Name: t.Name, Note: t.Note, Limits: enforcedWords(t.Enforced), Keys: t.Keys, Stopped: t.Stopped != nil}
		if v.Asked.Own {
			x.Note = ""
		}
		v.Teams = append(v.Teams, x)
	}
}

// modelsOf are those that the tenant called of late: where somebody of it may wait.
func (d *dashboardNow) modelsOf(ctx context.Context, v *dashboard.TenantView) (map[string]bool, error) {
	got, err := gemini.ReadUse(ctx, d.rdb, d.conf.scope(), gemini.UseQuery{Tenant: v.Name, From: v.At.Add(-2 * time.Hour), To: v.At, Hours: true})
	models := map[string]bool{}
	for _, u := range got {
		models[u.Model] = true
	}
	return models, err
}

func tenantKey(k tenants.Key, now time.Time) dashboard.TenantKey {
	x := dashboard.TenantKey{ID: k.ID, Name: k.Name, Team: k.Team, Class: k.Class, Limits: enforcedWords(k.Enforced), State: k.State, Stopped: k.Stopped != nil, Holds: k.State == "active"}
	x.For = orElse(k.Feature, strings.Join(k.Features, ", "))
	switch {
	case x.Stopped:
		x.Level, x.State = dashboard.Bad, "stopped "+clock(k.Stopped.At, now)
	case k.State == "revoked":
		x.Level, x.State = dashboard.Note, "revoked "+dayOrTime(k.Revoked, now)
	case k.State == "expired":
		x.Level, x.State = dashboard.Warn, "expired "+dayOrTime(k.Expires, now)
	case !k.Expires.IsZero():
		x.State = "ends " + dayOrTime(k.Expires, now)
	}
	return x
}

// addTenantWork says who of the tenant waits, and which of its runs are open.
func (d *dashboardNow) addTenantWork(ctx context.Context, v *dashboard.TenantView, lanes []limiter.Lane) error {
	o, err := d.read(ctx, v.At)
	if err != nil {
		return err
	}
	busy, err := d.modelsOf(ctx, v)
	if err != nil {
		return err
	}
	for i, r := range o.Runs {
		if r.path.Tenant != v.Name || r.counts.Open() == 0 {
			continue
		}
		if x := o.Runs[i].view(v.At); len(v.Runs) < dashboard.RunsOnPage {
			v.Runs = append(v.Runs, x)
		}
		busy[r.Model] = true
	}
	var look []limiter.Lane
	for _, l := range lanes {
		if busy[l.Model] && len(look) < dashboard.LanesOnPage {
			look = append(look, l)
		}
	}
	if o.Lanes, err = d.lim.States(ctx, look); err != nil {
		return err
	}
	w := waiters{o, d.backend, v.Asked.Own}
	for _, l := range w.lines("") {
		if limiter.ParseLeaf(l.Leaf).Tenant != v.Name || len(v.Waits) == dashboard.WaitsOnPage {
			continue
		}
		x, err := w.view(ctx, l)
		if err != nil {
			return err
		}
		if v.Asked.Own {
			x.Share = 0 // tells how many others there are
		}
		v.Waits = append(v.Waits, x)
	}
	return nil
}

// keyRevokeAction ends a key of a tenant.
func (b *backend) keyRevokeAction() dashboard.Action {
	id := func(form url.Values) string { return strings.TrimPrefix(form.Get("target"), "key/") }
	return dashboard.Action{
		Name: "key-revoke", Title: "Revoke the key",
		Preview: func(ctx context.Context, _ dashboard.Viewer, form url.Values) (string, error) {
			k, err := b.book.ShowKey(ctx, form.Get("tenant"), id(form))
			if err != nil {
				return "", noSuchKey(err)
			}
			return fmt.Sprintf("Revoke the key %s (%s) of tenant %s? Every gateway refuses it within a second, with all its secrets, and it stays so: another one has to be made.", k.Name, k.ID, form.Get("tenant")), nil
		},
		Do: func(ctx context.Context, by dashboard.Viewer, form url.Values) (out dashboard.Outcome, err error) {
			k, err := b.book.RevokeKey(ctx, by.By(), form.Get("tenant"), id(form))
			if err != nil {
				return out, noSuchKey(err)
			}
			return dashboard.Outcome{Target: "key/" + k.ID, Before: "held", After: "revoked", Said: fmt.Sprintf("The key %s (%s) is revoked.", k.Name, k.ID)}, nil
		},
	}
}

func noSuchKey(err error) error {
	if errors.Is(err, tenants.ErrNotThere) {
		return usageErrorf("there is no such key; nothing was changed")
	}
	return err
}
