// Package dashboard is the web page of a fleet: asynqmon and a page of our own
// behind one address, one login and one set of rules about what a button may
// do. It reads what its caller hands it and knows no limits and no scheduler.
package dashboard

import (
	"net/http"

	"github.com/hibiken/asynq"
	"github.com/hibiken/asynqmon"

	"nightshift/cmd/internal/tenants"
)

// Dashboard is the handler; Run feeds its metrics page.
type Dashboard struct {
	cfg       Config
	mon       http.Handler // asynqmon, which hides what tasks contain
	plainMon  http.Handler // and does not: for those who may see it
	inspector *asynq.Inspector
	format    *formatter
	samples   *samples
	troubles  *troubles
	pages     []page
	loads     loads
	live      *live
	strangers strangers // refusals of them that are kept
	failures  failures
	handler   http.Handler
}

// New makes a dashboard. It starts nothing; the metrics page has data while Run
// is running.
func New(cfg Config) (*Dashboard, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	if err := checkTokens(cfg.Token, cfg.ViewToken); err != nil {
		return nil, err
	}
	d := &Dashboard{cfg: cfg, samples: newSamples(), troubles: &troubles{}}
	careful := tolerant{UniversalClient: cfg.Redis, troubles: d.troubles}
	d.format = newFormatter(cfg)
	d.inspector = asynq.NewInspectorFromRedisClient(careful)
	masking := *d.format
	masking.mask = true
	d.mon, d.plainMon = d.queues(careful, &masking), d.queues(careful, d.format)
	d.pages, d.live = d.pageTable(), newLive(d.lookForAll)
	d.handler = d.chain()
	return d, nil
}

// queues is an asynqmon that writes tasks in one way.
func (d *Dashboard) queues(careful tolerant, f *formatter) http.Handler {
	return asynqmon.New(asynqmon.Options{
		RootPath:         d.cfg.Prefix,
		RedisConnOpt:     &shared{plain: d.cfg.Redis, tolerant: careful},
		PayloadFormatter: asynqmon.PayloadFormatterFunc(f.payload),
		ResultFormatter:  asynqmon.ResultFormatterFunc(f.result),
		// Shows the metrics page. It is never called: /api/metrics is ours.
		PrometheusAddress: "in-process",
		ReadOnly:          !d.cfg.Write,
	})
}

// ServeHTTP answers a request.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// chain is what a request goes through, from the outside in: headers, who may
// ask, from where, and then the page.
func (d *Dashboard) chain() http.Handler {
	open := http.NewServeMux() // needs no login: tells nothing
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	open.Handle("GET /assets/", assetHandler())
	open.Handle("GET /favicon.ico", http.RedirectHandler("/assets/moon.svg", http.StatusMovedPermanently)) // browsers ask by themselves
	d.routeLogin(open)

	inside := http.NewServeMux()
	inside.HandleFunc("GET /api/pauses", d.servePauses)
	inside.HandleFunc("GET /live", d.serveLive)
	inside.Handle(d.cfg.Prefix+"/", http.HandlerFunc(d.serveQueues))
	inside.Handle("GET "+d.cfg.Prefix, http.RedirectHandler(d.cfg.Prefix+"/", http.StatusFound))
	d.routePages(inside)
	d.routeActions(inside)

	if d.cfg.API != nil {
		open.Handle("GET "+tenants.DocumentPath, d.cfg.API)
		inside.Handle(tenants.Prefix, d.cfg.API)
	}
	open.Handle("/", d.guard(inside, d.theirs()))
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(d.refuseForeign))
	return withHeaders(cross.Handler(open))
}

// refuseForeign answers what a page of another site made a browser send.
func (d *Dashboard) refuseForeign(w http.ResponseWriter, r *http.Request) {
	d.cfg.Logger.Warn("dashboard: refused what another site's page sent", "from", addressOf(r), "origin", cut(r.Header.Get("Origin"), 100), "path", cut(r.URL.Path, 100))
	d.recordStranger(r, AuditEntry{What: "forged-origin", Target: cut(r.URL.Path, 100), Text: "It came from a page of another site, " + cut(printable(r.Header.Get("Origin")), 100) + "."})
	refuse(w, r, http.StatusForbidden, "This came from a page of another site.")
}

// Close ends the lines to open pages. The server's shutdown would wait for them.
func (d *Dashboard) Close() { d.live.close() }
