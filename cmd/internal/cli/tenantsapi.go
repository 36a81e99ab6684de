package cli

import (
	"context"
	"errors"
	"net/http"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
)

// tenantsAPI is the API of tenants behind the dashboard's login.
func (b *backend) tenantsAPI(now *dashboardNow) http.Handler {
	return tenants.NewAPI(tenants.API{
		Book: b.book, Log: b.log, Caller: b.apiCaller, Away: b.redisGone,
		Stop: func(ctx context.Context, by, node, reason string) (tenants.Deed, error) {
			return deedOf(b.stop(ctx, by, node, reason))
		},
		Lift: func(ctx context.Context, by, node string) (tenants.Deed, error) { return deedOf(b.lift(ctx, by, node)) },
		Record: func(r *http.Request, a tenants.Act) {
			now.forget()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), deedPatience)
			defer cancel()
			if err := b.dashboardRecord(ctx, auditOf(r, a)); err != nil {
				b.log.Warn("dashboard: what was done is not recorded", "what", a.What, "target", a.Target, "error", err)
			}
		},
	})
}

func deedOf(out dashboard.Outcome, err error) (tenants.Deed, error) {
	return tenants.Deed{Before: out.Before, After: out.After, Said: out.Said}, err
}

// apiCaller is who asks the API, as the dashboard let them in.
func (b *backend) apiCaller(r *http.Request) tenants.Caller {
	v := dashboard.ViewerOf(r.Context())
	c := tenants.Caller{By: v.By(), Tenant: v.Tenant, Operate: v.Role == dashboard.RoleOperate && b.conf.Dashboard.Write}
	if !b.conf.Dashboard.Write {
		c.Why = "This dashboard is read-only: it was started without --write (dashboard.write)."
	}
	return c
}

// auditOf is what somebody did by the API, as the dashboard records it.
func auditOf(r *http.Request, a tenants.Act) dashboard.AuditEntry {
	v := dashboard.ViewerOf(r.Context())
	e := dashboard.AuditEntry{Who: v.By(), Role: v.Role, From: v.From, What: a.What, Target: a.Target, Before: a.Before, After: a.After, Result: dashboard.ResultDone, Text: a.Text}
	switch {
	case a.Refused:
		e.Result = dashboard.ResultRefused
	case a.Err != nil:
		e.Result, e.Text = dashboard.ResultFailed, a.Err.Error()
	}
	return e
}

// tenantOf is whom a token lets look at, and its id; "" is nobody.
func (b *backend) tenantOf(ctx context.Context, digest string) (tenant, id string, err error) {
	t, err := b.book.TokenOf(ctx, digest)
	if errors.Is(err, tenants.ErrNotThere) {
		return "", "", nil
	}
	return t.Tenant, t.ID, err
}
