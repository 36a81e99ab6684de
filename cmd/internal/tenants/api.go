package tenants

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Prefix is where the API stands.
const Prefix = "/api/v1/"

// DocumentPath is where it is described; whoever asks may read that.
const DocumentPath = Prefix + "openapi.json"

// Caller is who asks.
type Caller struct {
	By      string // for the record: "ana (dashboard)"
	Operate bool   // may change something
	Why     string // why not, where that is not only a matter of the token
	Tenant  string // the only one that it may see; "" is all
}

// Act is something that somebody did, or was refused.
type Act struct {
	What, Target  string // "tenant-put", "tenant/acme"
	Before, After string
	Text          string // one sentence
	Err           error  // nil: it is done
	Refused       bool   // by a rule about who may
}

// Deed is what came of something, for the record.
type Deed struct{ Before, After, Said string }

// API serves the book over HTTP. Book, Caller and Record must be set. It expects that who
// asks was let in, and that no page of another site made a browser ask.
type API struct {
	Book   *Book
	Caller func(*http.Request) Caller
	Record func(*http.Request, Act) // is told of all that changes something, or was to
	Log    *slog.Logger             // nil discards
	// Stop and Lift begin and end an emergency stop of a node, with all that goes with it;
	// nil is the book's alone, which knows of no runs.
	Stop func(ctx context.Context, by, node, reason string) (Deed, error)
	Lift func(ctx context.Context, by, node string) (Deed, error)
	// Away says in people's words that an error means that Redis does not answer; nil for
	// any other. A nil Away knows none.
	Away     func(error) error
	Patience time.Duration // bounds what only reads; 0 is 3 s

	mux *http.ServeMux
}

// How long an answer may take: what only reads, and what changes something.
const (
	readTime   = 3 * time.Second
	changeTime = 5 * time.Second
)

// mostBody is the largest that a body may be.
const mostBody = 64 << 10

// handler answers one kind of request of somebody.
type handler func(*visit) error

// route is a handler's place.
type route struct {
	method, path string
	what         string // of its Act; "" only reads
	do           handler
}

// NewAPI makes the API.
func NewAPI(a API) http.Handler {
	if a.Log == nil {
		a.Log = slog.New(slog.DiscardHandler)
	}
	a.Patience = cmp.Or(a.Patience, readTime)
	if a.Stop == nil {
		a.Stop = func(ctx context.Context, by, node, reason string) (Deed, error) {
			return Deed{}, a.Book.Stop(ctx, by, node, reason)
		}
	}
	if a.Lift == nil {
		a.Lift = func(ctx context.Context, by, node string) (Deed, error) { return Deed{}, a.Book.Lift(ctx, by, node) }
	}
	api := &a
	api.mux = http.NewServeMux()
	for _, r := range routes {
		api.mux.HandleFunc(r.method+" "+strings.TrimSuffix(Prefix, "/")+r.path, func(w http.ResponseWriter, q *http.Request) { api.serve(w, q, r) })
	}
	api.mux.HandleFunc(Prefix, api.missing)
	return api
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

var routes = []route{
	{"GET", "/openapi.json", "", (*visit).document},
	{"GET", "/tenants", "", (*visit).list},
	{"GET", "/tenants/{tenant}", "", (*visit).show},
	{"PUT", "/tenants/{tenant}", "tenant-put", (*visit).put},
	{"DELETE", "/tenants/{tenant}", "tenant-delete", (*visit).delete},
	{"POST", "/tenants/{tenant}/stop", "stop", (*visit).stop},
	{"POST", "/tenants/{tenant}/lift", "lift", (*visit).lift},
	{"GET", "/tenants/{tenant}/teams", "", (*visit).teams},
	{"GET", "/tenants/{tenant}/teams/{team}", "", (*visit).show},
	{"PUT", "/tenants/{tenant}/teams/{team}", "team-put", (*visit).put},
	{"DELETE", "/tenants/{tenant}/teams/{team}", "team-delete", (*visit).delete},
	{"POST", "/tenants/{tenant}/teams/{team}/stop", "stop", (*visit).stop},
	{"POST", "/tenants/{tenant}/teams/{team}/lift", "lift", (*visit).lift},
	{"GET", "/tenants/{tenant}/keys", "", (*visit).keys},
	{"POST", "/tenants/{tenant}/keys", "key-add", doOnce((*visit).addKey)},
	{"GET", "/tenants/{tenant}/keys/{key}", "", (*visit).showKey},
	{"PUT", "/tenants/{tenant}/keys/{key}", "key-put", (*visit).putKey},
	{"POST", "/tenants/{tenant}/keys/{key}/rotate", "key-rotate", doOnce((*visit).rotateKey)},
	{"POST", "/tenants/{tenant}/keys/{key}/revoke", "key-revoke", (*visit).revokeKey},
	{"POST", "/tenants/{tenant}/keys/{key}/stop", "stop", (*visit).stop},
	{"POST", "/tenants/{tenant}/keys/{key}/lift", "lift", (*visit).lift},
	{"GET", "/tenants/{tenant}/usage", "", (*visit).usage},
	{"GET", "/tenants/{tenant}/tokens", "", (*visit).tokens},
	{"POST", "/tenants/{tenant}/tokens", "token-add", doOnce((*visit).addToken)},
	{"DELETE", "/tenants/{tenant}/tokens/{token}", "token-end", (*visit).dropToken},
}

// visit is one request.
type visit struct {
	*API
	w   http.ResponseWriter
	r   *http.Request
	by  Caller
	ref Ref
	act Act
}

// serve lets a handler answer whoever may ask it.
func (a *API) serve(w http.ResponseWriter, r *http.Request, at route) {
	v := &visit{API: a, w: w, r: r, ref: Ref{Tenant: r.PathValue("tenant"), Team: r.PathValue("team")}}
	if at.path == "/openapi.json" {
		v.answerError(at.do(v))
		return
	}
	v.by = a.Caller(r)
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	v.act = Act{What: at.what, Target: v.target()}
	// Another's tenant is answered like one that there is not, before anything is looked at.
	if v.by.Tenant != "" && v.ref.Tenant != "" && v.ref.Tenant != v.by.Tenant {
		v.answerError(ErrNotThere)
		return
	}
	if at.what != "" && !v.by.Operate {
		why := v.by.Why
		if why == "" {
			why = "This token may only look: send the operators' token to change something."
		}
		v.act.Refused, v.act.Text = true, why
		a.Record(r, v.act)
		v.problem(problem{Status: http.StatusForbidden, Detail: why})
		return
	}
	bound := a.Patience
	if at.what != "" {
		bound = changeTime
	}
	ctx, cancel := context.WithTimeout(r.Context(), bound)
	defer cancel()
	v.r = r.WithContext(ctx)
	err := at.do(v)
	if at.what != "" {
		v.act.Err = err
		a.Record(r, v.act)
	}
	v.answerError(err)
}

// target is what a request is about, for the record.
func (v *visit) target() string {
	t := "tenant/" + cut(v.ref.Tenant)
	for _, level := range []string{"team", "key", "token"} {
		if name := v.r.PathValue(level); name != "" {
			t += " " + level + "/" + cut(name)
		}
	}
	return t
}

// missing answers what no route takes.
func (a *API) missing(w http.ResponseWriter, r *http.Request) {
	v := &visit{API: a, w: w, r: r}
	var takes []string
	for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := a.mux.Handler(other); pattern != Prefix {
			takes = append(takes, method)
		}
	}
	if len(takes) > 0 && !slices.Contains(takes, r.Method) {
		w.Header().Set("Allow", strings.Join(takes, ", "))
		v.problem(problem{Status: http.StatusMethodNotAllowed, Detail: "This takes " + strings.Join(takes, ", ") + "."})
		return
	}
	v.answerError(ErrNotThere)
}

// answerError says what an error means for who asked; nil is answered already.
func (v *visit) answerError(err error) {
	var clash *ConflictError
	switch {
	case err == nil:
	case len(faults(err)) > 0:
		p := problem{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
		for _, f := range faults(err) {
			p.Errors = append(p.Errors, faultOf(f))
		}
		v.problem(p)
	case errors.Is(err, ErrNotThere):
		v.problem(problem{Status: http.StatusNotFound, Detail: "There is no such thing."})
	case errors.As(err, &clash):
		v.problem(problem{Status: http.StatusConflict, Detail: sentence(clash.Why)})
	case errors.Is(err, ErrChanged):
		v.problem(problem{Status: http.StatusPreconditionFailed, Detail: sentence(ErrChanged.Error())})
	case errors.Is(err, ErrUnread):
		v.problem(problem{Status: http.StatusPreconditionRequired, Detail: "It is there already: send If-Match with the ETag of what you read, so that nobody's change is lost."})
	default:
		v.Log.Warn("tenants: request failed", "method", v.r.Method, "path", v.r.URL.Path, "error", err)
		if v.Away != nil {
			if gone := v.Away(err); gone != nil {
				v.problem(problem{Status: http.StatusServiceUnavailable, Detail: sentence(gone.Error())})
				return
			}
		}
		v.problem(problem{Status: http.StatusServiceUnavailable, Detail: "The shared state does not answer now; nothing more is known. Try again."})
	}
}
