package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
)

// tenantList fills a page of the tenants. All figures come from one look at all of
// them that many pages share, so that thousands take no longer than ten.
func (d *dashboardNow) tenantList(ctx context.Context, ask dashboard.TenantsQuery) (v dashboard.TenantsView, err error) {
	p, err := d.book.List(ctx, tenants.ListQuery{Text: ask.Text, Sort: ask.Sort, Skip: (ask.Page - 1) * dashboard.TenantsOnPage, Limit: dashboard.TenantsOnPage})
	if err != nil {
		return v, err
	}
	v = dashboard.TenantsView{At: p.At, Found: p.Found, All: p.All}
	for _, s := range p.Tenants {
		v.Tenants = append(v.Tenants, tenantRow(s))
	}
	return v, nil
}

func tenantRow(s tenants.Summary) dashboard.TenantRow {
	r := dashboard.TenantRow{
		Name: s.Name, Note: s.Note, Stopped: s.Stopped, Teams: s.Teams, Keys: s.Keys, Limits: enforcedWords(s.Enforced), Calls: s.Today.Calls,
		Tokens: s.Today.InputTokens + s.Today.OutputTokens, Refused: s.Today.Refused, OwnLimit: s.Today.OwnLimit, Spent: s.Today.MicroUSD, Cap: s.Cap(),
	}
	switch {
	case s.Stopped, r.Cap > 0 && r.Spent >= r.Cap:
		r.Level = dashboard.Bad
	case r.Cap > 0 && r.Spent >= r.Cap/10*8:
		r.Level = dashboard.Warn
	}
	return r
}

// enforcedWords are limits in short: "rpm 300, $25.00/day".
func enforcedWords(list []tenants.Enforced) string {
	var out []limiter.Override
	for _, e := range list {
		name, _ := tenants.Shorthand(e.Name)
		out = append(out, limiter.Override{Name: name, Value: e.Amount})
	}
	return shortLimits(out)
}

// keysOnPage and sumsOnPage bound what one page lists.
const keysOnPage, sumsOnPage, teamsOnPage = 200, 50, 100

// tenantPage fills the page of one tenant; of its own one, without what is others' or
// the operators'.
func (d *dashboardNow) tenantPage(ctx context.Context, ask dashboard.TenantQuery) (v dashboard.TenantView, err error) {
	a, err := d.book.View(ctx, ask.Name)
	if errors.Is(err, tenants.ErrNotThere) {
		return v, fmt.Errorf("%w: nobody has made, configured or used a tenant of that name", dashboard.ErrNotThere)
	}
	if err != nil {
		return v, err
	}
	now := time.Now()
	v = dashboard.TenantView{At: now, Asked: ask, Name: a.Name, Note: a.Note}
	addAccount(&v, a.Account, now)
	addTenantKeys(&v, a)
	for _, add := range []func(context.Context, *dashboard.TenantView) error{d.addTenantLimits, d.addTenantUse, d.addTenantForecast} {
		if err := add(ctx, &v); err != nil {
			return v, err
		}
	}
	if ask.Own {
		v.Note, v.Command = "", ""
	}
	return v, d.addTenantWork(ctx, &v, a.Lanes)
}
