package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"nightshift/limiter/gemini"
)

// Identities knows whom a key stands for. *Keys does.
type Identities interface {
	Lookup(ctx context.Context, key string) (Identity, error)
}

// Config says what a Gateway needs. Transport, Keys, Classes and Lanes must be set.
type Config struct {
	Transport  http.RoundTripper           // the governed way out, a *gemini.Transport
	BaseURL    string                      // the transport's; "" means gemini.DefaultBaseURL, or Vertex's
	Vertex     *gemini.Vertex              // the transport's: Vertex AI's paths are served, and nothing else
	Keys       Identities                  //
	Classes    []string                    // the configured classes from the highest down
	Features   []string                    // that there are; calls for others are refused. None: any
	Lanes      *gemini.LaneMap             //
	Routes     *gemini.Routes              // the transport's; their aliases may stand in reports of calls. nil: none
	PathPrefix string                      // under which everything is served: "" or "/gemini"
	Observe    bool                        // the transport observes: calls with unknown keys pass too
	Ready      func(context.Context) error // what else /readyz needs, such as Redis (see ErrAway); may be nil
	Local      func() string               // which calls pass while Ready says ErrAway: the gateway stays ready and says it; "" or nil is none
	// Direct keeps a call that was made elsewhere, by gemini.Direct; nil: /v1/observe is not served.
	Direct func(context.Context, gemini.DirectCall) error
	// Permits lends permits for calls that cannot come through here; nil: /v1/permits
	// is not served.
	Permits *gemini.Lender
	Bounds  Bounds           //
	Logger  *slog.Logger     // nil means none
	Now     func() time.Time // nil means time.Now
}

// Bounds are the gateway's own limits. Zero fields take the defaults.
type Bounds struct {
	Body   int64         // largest request body in bytes; default 21 MB (the API takes 20 MB inline: https://ai.google.dev/gemini-api/docs/files)
	Memory int64         // for all bodies at once, in bytes; default 256 MB; who finds no room waits, see Patience
	Header int           // for all of a request's headers, in bytes; default 32 KB
	Chunk  time.Duration // how long a client may take for one piece of its request or of its answer; default 30 s
	Call   time.Duration // how long one call may take in all; default 30 min
}

// patience is how long a large body waits for its part of the memory.
const patience = 10 * time.Second

func (b Bounds) filled() Bounds {
	return Bounds{
		Body:   cmp.Or(b.Body, 21<<20),
		Memory: cmp.Or(b.Memory, 256<<20),
		Header: cmp.Or(b.Header, 32<<10),
		Chunk:  cmp.Or(b.Chunk, 30*time.Second),
		Call:   cmp.Or(b.Call, 30*time.Minute),
	}
}

// Gateway serves Gemini's HTTP API. It is safe for concurrent use.
type Gateway struct {
	cfg     Config
	base    *url.URL
	project string
	proxy   *httputil.ReverseProxy
	memory  *memory
	log     *slog.Logger
	noise   noise
	watcher watcher
	leaving atomic.Bool
}

// New checks the configuration; an error names the field.
func New(cfg Config) (*Gateway, error) {
	base, err := url.Parse(strings.TrimRight(cmp.Or(cfg.BaseURL, cfg.Vertex.BaseURL()), "/"))
	switch {
	case err != nil || base.Host == "":
		return nil, &fieldError{"BaseURL", "want http(s)://host[/prefix]"}
	case cfg.Transport == nil:
		return nil, &fieldError{"Transport", "must be set"}
	case cfg.Keys == nil:
		return nil, &fieldError{"Keys", "must be set"}
	case len(cfg.Classes) == 0:
		return nil, &fieldError{"Classes", "must be set"}
	case cfg.Lanes == nil || len(cfg.Lanes.Lanes()) == 0:
		return nil, &fieldError{"Lanes", "no model is configured"}
	}
	if err := checkPrefix(cfg.PathPrefix); err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, base: base, project: cfg.Lanes.Lanes()[0].Project, log: cfg.Logger}
	g.fill()
	return g, nil
}

func checkPrefix(p string) error {
	if p == "" || strings.HasPrefix(p, "/") && !strings.HasSuffix(p, "/") && (&url.URL{Path: p}).EscapedPath() == p {
		return nil
	}
	return &fieldError{"PathPrefix", fmt.Sprintf("%q: want a plain path such as /gemini, without a slash at its end", p)}
}

// fieldError names the field of a Config that cannot be.
type fieldError struct{ field, why string }

// Error is field and reason.
func (e *fieldError) Error() string { return e.field + ": " + e.why }

func (g *Gateway) fill() {
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.cfg.Now == nil {
		g.cfg.Now = time.Now
	}
	g.cfg.Bounds = g.cfg.Bounds.filled()
	g.memory = newMemory(g.cfg.Bounds.Memory)
	g.proxy = g.newProxy()
}
