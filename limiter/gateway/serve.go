package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server says how a handler is served. The zero value works.
type Server struct {
	Drain time.Duration // how long calls may still run after the end was asked for; default 2 min
	// Leave is how long new calls are still taken after that, when the handler says that
	// somebody should see first that it leaves (Gateway.Leave). Nil means 5 s.
	Leave  *time.Duration
	TLS    *tls.Config  // with a certificate: HTTPS, HTTP/2 too; nil: HTTP/1.1 in the clear
	Conns  int          // open connections at once; who comes then waits. Default 4096
	Logger *slog.Logger // nil means none
}

// Bounds of a connection. A request's body and an answer have no time as a
// whole; the gateway bounds each piece of them, and a body's average speed.
const (
	readHeaderTime = 10 * time.Second
	idleTime       = 2 * time.Minute
	mostHeader     = 256 << 10       // beyond it net/http answers by itself; conn.Write puts that into Gemini's shape
	settleTime     = 7 * time.Second // for calls that were cut to settle
)

// Serve serves h on l until the context ends. Then it lets load balancers see that it
// leaves, takes no new connections
// and lets the calls that run, streams too, come to their end within Drain;
// what is still running is cut, and given time to settle. The error says how
// many were cut, or why serving ended by itself.
func (s Server) Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	running := &running{}
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	srv, l := s.server(running.wrap(h), log), newBounded(l, cmp.Or(s.Conns, 4096), log)
	ended := make(chan error, 1)
	go func() { ended <- s.listen(srv, l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if err := s.leave(h, ended, log); err != nil {
		return err
	}
	return s.drain(ctx, srv, running, log)
}

func (s Server) server(h http.Handler, log *slog.Logger) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTime, // and of the TLS handshake
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		TLSConfig:         s.TLS,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
		// "OPTIONS *" is as unknown here as any other path.
		DisableGeneralOptionsHandler: true,
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(s.TLS != nil) // by ALPN; no client of Gemini's speaks it in the clear
	return srv
}

func (s Server) listen(srv *http.Server, l net.Listener) error {
	if s.TLS != nil {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

// leaver is a handler that can say that it leaves, and whether somebody looks.
type leaver interface{ Leave() (seen bool) }

// leave waits until load balancers have seen that this server goes, and send nothing
// more: a connection that is refused would be an error of a caller's.
func (s Server) leave(h http.Handler, ended <-chan error, log *slog.Logger) error {
	l, ok := h.(leaver)
	if !ok || !l.Leave() {
		return nil
	}
	wait := s.leaveTime()
	log.Info("leaving: /readyz says 503, calls are still taken", "until", time.Now().Add(wait).UTC().Truncate(time.Second))
	select {
	case err := <-ended:
		return err
	case <-time.After(wait):
		return nil
	}
}

// defaultLeave is for balancers that look every second or two.
const defaultLeave = 5 * time.Second

// EndTime is the longest that Serve goes on after its context has ended: whoever kills
// the process earlier cuts calls, and what they used is not settled.
func (s Server) EndTime() time.Duration { return s.leaveTime() + s.drainTime() + settleTime }

func (s Server) drainTime() time.Duration { return cmp.Or(s.Drain, 2*time.Minute) }

func (s Server) leaveTime() time.Duration {
	if s.Leave != nil {
		return *s.Leave
	}
	return defaultLeave
}

// drain stops in order: no new connections, then the calls, then what they settle.
func (s Server) drain(ctx context.Context, srv *http.Server, running *running, log *slog.Logger) error {
	log.Info("draining", "calls", running.count(), "at_most", s.drainTime()+settleTime)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTime())
	defer cancel()
	err := srv.Shutdown(ctx)
	if err == nil {
		return nil
	}
	cut := running.count()
	err = errors.Join(fmt.Errorf("%d calls were cut: they did not end in time", cut), srv.Close())
	select {
	case <-running.none():
	case <-time.After(settleTime):
	}
	return err
}

// running counts the calls of a server.
type running struct {
	mu sync.Mutex
	n  int           // guarded by mu
	at chan struct{} // closed when n is 0; nil while nobody waits; guarded by mu
}

// wrap counts, and takes off the deadline that the call before left on the connection.
func (r *running) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.add(1)
		defer r.add(-1)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		h.ServeHTTP(w, req)
	})
}

func (r *running) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n += n
	if r.n == 0 && r.at != nil {
		close(r.at)
		r.at = nil
	}
}

func (r *running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// none gives a channel that is closed when nothing runs.
func (r *running) none() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := make(chan struct{})
	if r.n == 0 {
		close(at)
		return at
	}
	r.at = at
	return at
}
