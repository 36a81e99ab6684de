package dashboard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
)

// DefaultListen is where the dashboard listens unless told otherwise: this
// machine only.
const DefaultListen = "127.0.0.1:8780"

// Config is what a dashboard shows and may do. The zero value of everything
// but Redis is the careful choice: read-only, no token (so loopback only, see
// Check).
type Config struct {
	// Redis is the process's own client; it stays the caller's to close.
	Redis redis.UniversalClient
	// Store explains tasks: row id, state and fields. Nil shows the payload alone.
	Store *jobs.Store
	// Prefix is where asynqmon is mounted, "/queues" when empty.
	Prefix string
	// Write lets people pause and resume queues and run single tasks. Calls
	// that would lose jobs stay refused.
	Write bool
	// Pauser is asked instead of asynqmon when a queue is paused or resumed
	// there. Nil refuses both.
	Pauser Pauser
	// Token, when set, is asked of everyone: as a login form, as the password of
	// basic auth, or as a bearer token. Who has it may operate, if Write allows that
	// at all. Without it only requests whose Host is this machine are answered.
	Token string
	// ViewToken is one for those who may only look. It needs a Token beside it.
	ViewToken string
	// Contents is how much operators see of what rows contain.
	Contents Contents
	// API answers below /api/v1/, behind the login; ViewerOf is who asks. What describes
	// it (tenants.DocumentPath) needs none. Nil has no API.
	API http.Handler
	// TenantOf gives the tenant that a token lets look at itself, by the token's digest
	// (tenants.TokenDigest), and the token's id; "" is a wrong one. Nil has no such tokens.
	TenantOf func(ctx context.Context, digest string) (tenant, id string, err error)
	Sources  // what the pages show
	// Actions are what people may do by the pages' forms.
	Actions []Action
	// Record keeps what was done or refused. Nil logs it only.
	Record func(context.Context, AuditEntry) error
	// Away says in people's words that an error means that Redis does not answer; nil
	// for any other error. A nil Away knows none.
	Away func(error) error
	// Patience bounds what a page waits for; 0 is 3 s.
	Patience time.Duration
	Logger   *slog.Logger     // nil discards
	Now      func() time.Time // nil is time.Now
}

// Sources are what the pages show. A page whose source is nil is not there.
type Sources struct {
	// Overview is what the first page shows. With nil it shows pauses and links only.
	Overview func(context.Context, NowQuery) (Overview, error)
	// Pauses are what the banner on asynqmon's pages and /api/pauses list.
	Pauses func(context.Context) ([]PauseView, error)
	// Forget is told that somebody has just changed something: what a source keeps
	// for a moment is old.
	Forget func()
	// Audit reads what Record kept.
	Audit func(context.Context, AuditQuery) (AuditView, error)
	// History is what was used over time. HistoryCSV writes every step of it.
	History    func(context.Context, HistoryQuery) (HistoryView, error)
	HistoryCSV func(context.Context, HistoryQuery, io.Writer) error
	// Who ranks those who used the quota.
	Who func(context.Context, WhoQuery) (WhoView, error)
	// Runs lists runs, Run shows one. An error that is ErrNotThere says that there is
	// no such run.
	Runs func(context.Context, RunsQuery) (RunsView, error)
	Run  func(context.Context, RunQuery) (RunPageView, error)
	// Tenants lists tenants, Tenant shows one. An error that is ErrNotThere says that there
	// is no such tenant.
	Tenants func(context.Context, TenantsQuery) (TenantsView, error)
	Tenant  func(context.Context, TenantQuery) (TenantView, error)
	// Steer is what can be changed of the quotas.
	Steer func(context.Context) (SteerView, error)
}

// Pauser pauses and resumes queues with a reason on record; scheduler.Control is
// one. An error's method Hint() string, if it has one, is the command that would
// work.
type Pauser interface {
	PauseQueue(ctx context.Context, queue, by string) error
	ResumeQueue(ctx context.Context, queue, by string) error
}

func (c *Config) fill() error {
	if c.Redis == nil {
		return errors.New("dashboard: Redis is missing")
	}
	if c.Prefix == "" {
		c.Prefix = "/queues"
	}
	c.Prefix = strings.TrimSuffix(c.Prefix, "/")
	if !strings.HasPrefix(c.Prefix, "/") || strings.ContainsAny(c.Prefix, "{}?# ") {
		return errors.New(`dashboard: Prefix has to be a path like "/queues"`)
	}
	c.Patience = cmp.Or(c.Patience, 3*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}
