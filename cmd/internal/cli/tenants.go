package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/tenants"
)

func newTenantsCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tenants",
		Short: "Say what tenants and their teams may use, and show what they used",
		Long: "Tenants and teams have limits, a weight and a note; keys (nightshift keys add --tenant) belong to them.\n" +
			"The same is done over HTTP at the dashboard's /api/v1/tenants, and on its page Tenants.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTenantsListCmd(f), newTenantsShowCmd(f), newTenantsSetCmd(f), newTenantsUsageCmd(f), newTenantsTokenCmd(f))
	quiet(cmd)
	return cmd
}

// withBook reaches the tenants of the configured project.
func (f *factory) withBook(ctx context.Context, do func(*backend, *tenants.Book) error) error {
	be, err := f.openFleet(ctx, "tenants")
	if err != nil {
		return err
	}
	defer be.close()
	return ofTenants(do(be, be.book))
}

// ofTenants makes what the user gave wrongly an error of the command line.
func ofTenants(err error) error {
	var field *tenants.FieldError
	var clash *tenants.ConflictError
	switch {
	case errors.As(err, &field):
		return usageErrorf("%s; nothing was changed", err)
	case errors.As(err, &clash):
		return usageErrorf("%s; nothing was changed", err)
	case errors.Is(err, tenants.ErrChanged):
		return errors.New("somebody else has just changed it; look again (nightshift tenants show) and repeat the command")
	}
	return err
}

// tenantRef reads TENANT or TENANT/TEAM.
func tenantRef(arg string) (r tenants.Ref, err error) {
	var deep bool
	r.Tenant, r.Team, deep = strings.Cut(arg, "/")
	if r.Tenant == "" || deep && r.Team == "" || strings.Contains(r.Team, "/") {
		return r, usageErrorf("%q: want TENANT or TENANT/TEAM", arg)
	}
	return r, nil
}

// noTenant says which there are.
func noTenant(ctx context.Context, book *tenants.Book, r tenants.Ref, err error) error {
	if !errors.Is(err, tenants.ErrNotThere) {
		return err
	}
	var known []string
	if p, err := book.List(ctx, tenants.ListQuery{Limit: 500, Fresh: true}); err == nil {
		for _, t := range p.Tenants {
			known = append(known, t.Name)
		}
	}
	name := r.Tenant
	if r.Team != "" {
		name += "/" + r.Team
	}
	return usageErrorf("there is no tenant or team %q%s; `nightshift tenants list` shows them, `nightshift tenants set` makes one", name, nearest(r.Tenant, known))
}
