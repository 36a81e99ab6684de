package gateway

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// virtual is a gateway served over connections in memory, on a test bubble's clock.
type virtual struct {
	*testing.T
	lim    *limiter.Model
	lane   limiter.Lane
	conns  *conns
	client *http.Client
	trust  *x509.CertPool     // of its certificate, when it speaks TLS
	stop   context.CancelFunc // asks the server to end
	served chan error
}

// known is a fixed set of keys.
type known map[string]Identity

func (k known) Lookup(_ context.Context, key string) (Identity, error) {
	if i, ok := k[key]; ok {
		return i, nil
	}
	return Identity{}, ErrUnknownKey
}

func startVirtual(t *testing.T, base sender, change ...func(*Config)) *virtual {
	t.Helper()
	v := serveVirtual(t, Server{Drain: time.Minute}, base, change...)
	v.client = &http.Client{Transport: &http.Transport{DialContext: v.conns.dial}}
	return v
}

func serveVirtual(t *testing.T, server Server, base sender, change ...func(*Config)) *virtual {
	t.Helper()
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: flash})
	if err != nil {
		t.Fatal(err)
	}
	v := &virtual{T: t, lane: lanes.Lanes()[0], conns: &conns{ch: make(chan net.Conn)}, served: make(chan error, 1)}
	v.lim = limiter.NewModel(v.lane.Scope(), time.Now())
	v.must(v.lim.Configure(t.Context(), limiter.Config{
		Scope: v.lane.Scope(), Classes: []limiter.Class{{Name: "interactive"}},
		Lanes: []limiter.LaneConfig{{Lane: v.lane, Limits: limiter.Limits{RPM: 100, Concurrency: 10}, Lend: "now"}},
	}))
	transport, err := gemini.NewTransport(gemini.TransportConfig{Base: base, APIKey: providerKey, Gate: v.lim, Lanes: lanes})
	v.must(err)
	c := Config{Transport: transport, Lanes: lanes, Classes: []string{"interactive"},
		Keys: known{"the-key": {ID: "k_1", Project: "proj", Class: "interactive", Feature: "chat"}}}
	for _, f := range change {
		f(&c)
	}
	g, err := New(c)
	v.must(err)
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go func() { v.served <- server.Serve(ctx, v.conns, g) }()
	return v
}

func (v *virtual) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

// end ends the server and gives what it said.
func (v *virtual) end() error {
	v.stop()
	v.client.CloseIdleConnections()
	return <-v.served
}

func (v *virtual) post(path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, v.scheme()+"://gateway"+path, body)
	v.must(err)
	req.Header.Set("X-Goog-Api-Key", "the-key")
	return v.client.Do(req)
}

func (v *virtual) scheme() string {
	if v.trust != nil {
		return "https"
	}
	return "http"
}

func (v *virtual) inFlight() int64 {
	v.Helper()
	st, err := v.lim.State(context.Background(), v.lane)
	v.must(err)
	return st.InFlight
}

// conns is a listener of connections in memory.
type conns struct {
	ch     chan net.Conn
	mu     sync.Mutex
	closed chan struct{} // made by the first who needs it; guarded by mu
}

func (c *conns) done() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil {
		c.closed = make(chan struct{})
	}
	return c.closed
}

func (c *conns) Accept() (net.Conn, error) {
	select {
	case conn := <-c.ch:
		return conn, nil
	case <-c.done():
		return nil, net.ErrClosed
	}
}

func (c *conns) Close() error {
	done := c.done()
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-done:
	default:
		close(done)
	}
	return nil
}

func (c *conns) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (c *conns) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case c.ch <- far:
		return near, nil
	case <-c.done():
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowly gives parts, each after a while, and ends with the request's context.
type slowly struct {
	ctx   context.Context
	parts []string
	each  time.Duration
	rest  string
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.rest == "" {
		if len(s.parts) == 0 {
			return 0, io.EOF
		}
		select {
		case <-time.After(s.each):
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
		s.rest, s.parts = s.parts[0], s.parts[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *slowly) Close() error { return nil }

func streams(each time.Duration, parts ...string) sender {
	return func(r *http.Request) (*http.Response, error) {
		resp := reply(200, "text/event-stream", "")
		resp.ContentLength, resp.Body = -1, &slowly{ctx: r.Context(), parts: parts, each: each}
		return resp, nil
	}
}

// TestLongStreamIsNotCut: three minutes, silent for most of the time.
func TestLongStreamIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, streams(90*time.Second, event, last))
		resp, err := v.post(stream, strings.NewReader(question))
		v.must(err)
		begin := time.Now()
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != event+last {
			t.Errorf("%q, %v", got, err)
		}
		if took := time.Since(begin); took != 3*time.Minute {
			t.Errorf("took %s", took)
		}
		v.must(v.end())
		if n := v.inFlight(); n != 0 {
			t.Errorf("%d permits are open", n)
		}
	})
}

// TestClientThatDoesNotRead loses its call after the time of one piece.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan time.Duration, 1)
		begin := time.Now()
		v := startVirtual(t, func(r *http.Request) (*http.Response, error) {
			context.AfterFunc(r.Context(), func() { gone <- time.Since(begin) })
			parts := make([]string, 50)
			for i := range parts {
				parts[i] = event
			}
			return streams(time.Second, parts...)(r)
		})
		conn, err := v.conns.dial(t.Context(), "", "")
		v.must(err)
		_, err = io.WriteString(conn, "POST "+stream+" HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: the-key\r\nContent-Length: "+
			strconv.Itoa(len(question))+"\r\n\r\n"+question)
		v.must(err)
		_, err = http.ReadResponse(bufio.NewReader(conn), nil) // the headers; then nobody reads
		v.must(err)
		if took := <-gone; took < 30*time.Second || took > 33*time.Second {
			t.Errorf("the call ended after %s, want 30 s after the last read", took)
		}
		v.must(conn.Close())
		v.must(v.end())
		if n := v.inFlight(); n != 0 {
			t.Errorf("%d permits are open", n)
		}
	})
}

// TestClientThatDoesNotWrite: a body that stops coming is given up.
func TestClientThatDoesNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, func(*http.Request) (*http.Response, error) {
			t.Error("a call was made")
			return nil, io.EOF
		})
		conn, err := v.conns.dial(t.Context(), "", "")
		v.must(err)
		_, err = io.WriteString(conn, "POST "+generate+" HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: the-key\r\nContent-Length: 1000\r\n\r\n{")
		v.must(err)
		begin := time.Now()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		v.must(err)
		if took := time.Since(begin); resp.StatusCode != http.StatusRequestTimeout || took < 30*time.Second || took > 40*time.Second {
			t.Errorf("%s after %s", resp.Status, took)
		}
		_, _ = io.Copy(io.Discard, conn) // until the server gives the connection up
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("the connection was open for %s", took)
		}
		v.must(conn.Close())
		v.must(v.end())
		if n := v.inFlight(); n != 0 {
			t.Errorf("%d permits are open", n)
		}
	})
}

// TestClientThatWritesSlowly: no piece takes long, and the body would never end;
// one that comes at a slow link's speed may take its minutes.
func TestClientThatWritesSlowly(t *testing.T) {
	for name, c := range map[string]struct {
		piece  string
		pieces int
		each   time.Duration
		status int
		within time.Duration
	}{
		"a byte now and then": {" ", 1000, 10 * time.Second, http.StatusRequestTimeout, 40 * time.Second},
		"fast, then trickles": {strings.Repeat(" ", 64<<10), 300, 25 * time.Second, http.StatusRequestTimeout, 80 * time.Second},
		"a slow link":         {strings.Repeat(" ", 20<<10), 180, time.Second, http.StatusOK, 181 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, func(*http.Request) (*http.Response, error) { return reply(200, "application/json", last), nil })
				conn, err := v.conns.dial(t.Context(), "", "")
				v.must(err)
				written := make(chan struct{})
				go func() {
					defer close(written)
					_, _ = io.WriteString(conn, "POST "+generate+" HTTP/1.1\r\nHost: g\r\nX-Goog-Api-Key: the-key\r\nContent-Length: "+
						strconv.Itoa(c.pieces*len(c.piece)+len(question))+"\r\n\r\n")
					for range c.pieces {
						<-time.After(c.each)
						if _, err := io.WriteString(conn, c.piece); err != nil {
							return
						}
					}
					_, _ = io.WriteString(conn, question)
				}()
				begin := time.Now()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				v.must(err)
				if took := time.Since(begin); resp.StatusCode != c.status || took > c.within {
					t.Errorf("%s after %s", resp.Status, took)
				}
				v.must(conn.Close())
				<-written
				v.must(v.end())
				if n := v.inFlight(); n != 0 {
					t.Errorf("%d permits are open", n)
				}
			})
		})
	}
}

// TestCallWithoutEnd: a provider that never answers does not hold a permit for ever.
func TestCallWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, func(r *http.Request) (*http.Response, error) {
			if _, has := r.Context().Deadline(); has {
				t.Error("a deadline would make the permit's lease as long")
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begin := time.Now()
		resp, err := v.post(generate, strings.NewReader(question))
		v.must(err)
		_, _ = io.Copy(io.Discard, resp.Body)
		if took := time.Since(begin); resp.StatusCode != http.StatusGatewayTimeout || took != 30*time.Minute {
			t.Errorf("%s after %s", resp.Status, took)
		}
		v.must(v.end())
		if n := v.inFlight(); n != 0 {
			t.Errorf("%d permits are open", n)
		}
	})
}

// TestDrain: the end lets a stream finish that ends in time, and cuts and
// settles one that does not.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name string
		each time.Duration
		cut  bool
	}{{"ends in time", 20 * time.Second, false}, {"does not", 2 * time.Minute, true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, streams(c.each, event, last))
				resp, err := v.post(stream, strings.NewReader(question))
				v.must(err)
				ended := make(chan error, 1)
				go func() { ended <- v.end() }()
				got, err := io.ReadAll(resp.Body)
				if whole := err == nil && string(got) == event+last; whole == c.cut {
					t.Errorf("%q, %v", got, err)
				}
				if err := <-ended; (err != nil) != c.cut || c.cut && !strings.Contains(err.Error(), "1 calls were cut") {
					t.Errorf("serving ended with %v", err)
				}
				if n := v.inFlight(); n != 0 {
					t.Errorf("%d permits are open", n)
				}
				if _, err := v.post(generate, strings.NewReader(question)); err == nil {
					t.Error("a call was taken after the end")
				}
			})
		})
	}
}
