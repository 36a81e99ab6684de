package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/dashboard"
)

type dashboardOptions struct {
	*factory
	Listen string
	Write  bool
	Logs   logFlags
}

func newDashboardCmd(f *factory) *cobra.Command {
	o := &dashboardOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve asynqmon and the fleet's state as web pages, read-only unless asked",
		Long: "Serves one address with the fleet's state at / and asynqmon under /queues. It shows and changes nothing unless\n" +
			"--write is given; calls that would lose jobs are refused even then. Beyond this machine it needs a token.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDashboard(cmd.Context(), o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Listen, "listen", "", "`ADDRESS` to listen at (default dashboard.listen)")
	fl.BoolVar(&o.Write, "write", false, "let people pause queues and run tasks")
	o.Logs.add(cmd)
	return cmd
}

func runDashboard(ctx context.Context, o *dashboardOptions) error {
	log, err := o.logger(o.Logs)
	if err != nil {
		return err
	}
	o.log = log
	be, err := o.openFleet(ctx, "dashboard")
	if err != nil {
		return err
	}
	defer be.close()
	be.conf.Dashboard.Listen = orElse(o.Listen, be.conf.Dashboard.Listen)
	be.conf.Dashboard.Write = be.conf.Dashboard.Write || o.Write
	if err := dashboard.Check(be.conf.Dashboard.Listen, be.conf.Dashboard.Token, be.conf.Dashboard.ViewToken); err != nil {
		return fmt.Errorf("dashboard.listen: %w", err)
	}
	l, err := net.Listen("tcp", be.conf.Dashboard.Listen)
	if err != nil {
		return fmt.Errorf("dashboard.listen: %w", err)
	}
	return be.serveDashboard(ctx, l)
}

// dashboardSources are what its pages show.
func (b *backend) dashboardSources(now *dashboardNow) dashboard.Sources {
	return dashboard.Sources{
		Overview: now.overview, Pauses: b.dashboardPauses, Audit: b.dashboardAudit, Forget: now.forget,
		History: b.dashboardHistory, HistoryCSV: b.dashboardHistoryCSV, Who: b.dashboardWho, Runs: now.runList, Run: now.runPage, Steer: now.dashboardSteer,
		Tenants: now.tenantList, Tenant: now.tenantPage,
	}
}

// dashboardActions are what people may do there.
func (b *backend) dashboardActions() []dashboard.Action {
	return append([]dashboard.Action{
		b.pauseAction(), b.resumeAction(), b.cancelAction(), b.retryAction(), b.setAction(),
		b.quotaAction("quota-set", "Set", false), b.quotaAction("quota-unset", "Unset", true), b.stopAction(), b.liftAction(), b.keyRevokeAction(),
	}, b.rampActions()...)
}

// serveDashboard serves on l until the context ends.
func (b *backend) serveDashboard(ctx context.Context, l net.Listener) error {
	conf, now := b.conf.Dashboard, &dashboardNow{backend: b}
	d, err := dashboard.New(dashboard.Config{
		Redis: b.rdb, Store: b.store, Write: conf.Write, Token: conf.Token, ViewToken: conf.ViewToken, Contents: conf.contents(),
		Pauser: b.control(), Sources: b.dashboardSources(now), Actions: b.dashboardActions(), Record: b.dashboardRecord, Logger: b.log,
		API: b.tenantsAPI(now), TenantOf: b.tenantOf, Away: b.redisGone,
	})
	if err != nil {
		return firstError(err, l.Close())
	}
	watched, err := b.watch("dashboard", conf.Metrics)
	if err != nil {
		return firstError(err, l.Close())
	}
	defer watched.close()
	b.tellDashboard(ctx, watched)
	go func() { b.warnOf("metrics page", d.Run(ctx)) }()
	keeping, enough := context.WithCancel(ctx)
	defer enough()
	now.keep(keeping)
	srv := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	srv.RegisterOnShutdown(d.Close)
	context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(late)
	})
	b.started(ctx, "dashboard", "url", "http://"+l.Addr().String()+"/", "write", conf.Write, "metrics", watched.url)
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
