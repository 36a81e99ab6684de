package gateway

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// certificate makes one for loopback, and what trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	what := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, what, what, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, pool
}

// secured is a gateway behind TLS as the program serves it, and a client of
// HTTP/2; end asks it to end and gives what serving said.
type secured struct {
	*setup
	addr   string
	client *http.Client
	trust  *x509.CertPool
	stop   context.CancelFunc
	ended  chan error
}

func startTLS(t *testing.T, k knobs, server Server) *secured {
	s := &secured{setup: start(t, k), ended: make(chan error, 1)}
	cert, trust := certificate(t)
	l, err := Listen("127.0.0.1:0")
	s.must(err)
	s.addr, s.trust, s.url = l.Addr().String(), trust, "https://"+l.Addr().String()
	server.TLS, server.Logger = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, s.log.logger()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.ended <- server.Serve(ctx, l, s.gate); close(s.ended) }()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trust}}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		<-s.ended
	})
	return s
}

func (s *secured) post(ctx context.Context, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", s.chat())
	return s.client.Do(req)
}

// TestTLS: HTTP/2 by ALPN, HTTP/1.1 for whoever speaks only that, refusals and
// 413 in Gemini's shape over both; plain HTTP is told what to do.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := startTLS(t, knobs{config: func(c *Config) { c.Bounds.Body = 1 << 20 }}, Server{})
	for proto, client := range map[int]*http.Client{
		2: s.client, 1: {Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trust}}},
	} {
		s.client = client
		resp, err := s.post(t.Context(), generate, question)
		s.must(err)
		if got := read(t, resp); got.status != http.StatusOK || resp.ProtoMajor != proto || got.header.Get(headerUsage) == "" {
			t.Errorf("HTTP/%d: %s %d %s", proto, resp.Proto, got.status, got.body)
		}
		before := len(s.sim.Calls())
		for text, body := range map[string]string{"1048576 bytes": `{"contents":"` + strings.Repeat("A", 3<<20), "JSON": "hello"} {
			resp, err = s.post(t.Context(), generate, body)
			s.must(err)
			got := read(t, resp)
			if e := s.rpcError(got); got.status/100 != 4 || !strings.Contains(e.Message, text) {
				t.Errorf("HTTP/%d: %d %s", proto, got.status, got.body)
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+generate, strings.NewReader(question))
		s.must(err)
		for i := range 80 {
			req.Header.Add("X-Flood", strings.Repeat("f", 500)+strconv.Itoa(i))
		}
		resp, err = client.Do(req)
		s.must(err)
		if got := read(t, resp); got.status != http.StatusRequestHeaderFieldsTooLarge || s.rpcError(got).Status != invalidArgument {
			t.Errorf("HTTP/%d: %d %s", proto, got.status, got.body)
		}
		if n := len(s.sim.Calls()); n != before {
			t.Errorf("%d calls of what is none", n-before)
		}
		client.CloseIdleConnections()
	}
	got := s.raw(s.addr, "POST "+generate+" HTTP/1.1\r\nHost: g\r\n\r\n")
	if e := s.rpcError(got); got.status != http.StatusBadRequest || !strings.Contains(e.Message, "https://") {
		t.Errorf("plain HTTP: %d %s", got.status, got.body)
	}
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trust, MaxVersion: tls.VersionTLS11}}}
	if resp, err := old.Get(s.url + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("TLS 1.1 was spoken")
	}
}

// TestHTTP2Streams: each event at once, the trailers at the end; an abort of one
// stream cancels the call and leaves the connection to the others.
func TestHTTP2Streams(t *testing.T) {
	t.Parallel()
	events := make(chan *io.PipeWriter, 2)
	gone := make(chan struct{}, 2)
	s := startTLS(t, knobs{base: sender(func(r *http.Request) (*http.Response, error) {
		base, w := piped("text/event-stream")
		context.AfterFunc(r.Context(), func() { gone <- struct{}{} })
		events <- w
		return base(r)
	})}, Server{})
	ctx, abort := context.WithCancel(t.Context())
	left, err := s.post(ctx, stream, question)
	s.must(err)
	leftWriter := <-events
	whole, err := s.post(t.Context(), stream, question)
	s.must(err)
	w := <-events
	go func() { _, _ = io.WriteString(leftWriter, event) }()
	_, err = io.ReadFull(left.Body, make([]byte, len(event)))
	s.must(err)
	abort()
	<-gone
	body := bufio.NewReader(whole.Body)
	for _, part := range []string{event, last} {
		go func() { _, _ = io.WriteString(w, part) }()
		got := make([]byte, len(part))
		if _, err := io.ReadFull(body, got); err != nil || string(got) != part {
			t.Fatalf("%q, %v", got, err)
		}
	}
	s.must(w.Close())
	if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 || whole.ProtoMajor != 2 {
		t.Errorf("%s: at the end %q, %v", whole.Proto, rest, err)
	}
	_ = left.Body.Close()
	s.eventually("both are settled", func() bool { return s.state().InFlight == 0 })
}

// TestHTTP2Drain: the end is announced, what runs ends well, and nothing new is
// taken on the connection that there is.
func TestHTTP2Drain(t *testing.T) {
	t.Parallel()
	base, w := piped("text/event-stream")
	s := startTLS(t, knobs{base: base}, Server{Drain: time.Minute})
	resp, err := s.post(t.Context(), stream, question)
	s.must(err)
	s.stop()
	s.eventually("it drains", func() bool { return strings.Contains(s.log.String(), "draining") })
	s.eventually("nothing new is taken", func() bool {
		again, err := s.client.Get(s.url + "/healthz")
		if err == nil {
			again.Body.Close()
		}
		return err != nil
	})
	go func() {
		_, _ = io.WriteString(w, event+last)
		_ = w.Close()
	}()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != event+last || resp.ProtoMajor != 2 {
		t.Errorf("%s: %q, %v", resp.Proto, got, err)
	}
	_ = resp.Body.Close()
	if err := <-s.ended; err != nil {
		t.Errorf("serving ended with %v", err)
	}
	if n := s.state().InFlight; n != 0 {
		t.Errorf("%d permits are open", n)
	}
}

// startVirtualTLS is a gateway and a client of HTTP/2 on a test bubble's clock.
func startVirtualTLS(t *testing.T, base sender) *virtual {
	cert, trust := certificate(t)
	server := Server{Drain: time.Minute, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	v := serveVirtual(t, server, base)
	v.trust = trust
	v.client = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := v.conns.dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(c, &tls.Config{RootCAs: trust, ServerName: "127.0.0.1", NextProtos: []string{"h2"}})
		return secure, secure.HandshakeContext(ctx)
	}}}
	return v
}

// TestHTTP2Slow: over HTTP/2 too a stream may be silent for long, and a client
// loses its call that does not read, or whose body stops coming.
func TestHTTP2Slow(t *testing.T) {
	for name, run := range map[string]func(*testing.T){
		"silent": func(t *testing.T) {
			v := startVirtualTLS(t, streams(90*time.Second, event, last))
			resp, err := v.post(stream, strings.NewReader(question))
			v.must(err)
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != event+last || resp.ProtoMajor != 2 {
				t.Errorf("%s: %q, %v", resp.Proto, got, err)
			}
			v.must(v.end())
		},
		"does not read": func(t *testing.T) {
			gone := make(chan struct{})
			v := startVirtualTLS(t, func(r *http.Request) (*http.Response, error) {
				context.AfterFunc(r.Context(), func() { close(gone) })
				resp := reply(200, "text/event-stream", "")
				resp.ContentLength, resp.Body = -1, io.NopCloser(strings.NewReader(strings.Repeat(event, 200_000)))
				return resp, nil
			})
			begin := time.Now()
			resp, err := v.post(stream, strings.NewReader(question))
			v.must(err)
			<-gone // though nobody closed it
			if took := time.Since(begin); took < 30*time.Second || took > 33*time.Second {
				t.Errorf("the call ended after %s, want 30 s", took)
			}
			_ = resp.Body.Close()
			v.must(v.end())
			if n := v.inFlight(); n != 0 {
				t.Errorf("%d permits are open", n)
			}
		},
		"does not write": func(t *testing.T) {
			v := startVirtualTLS(t, func(*http.Request) (*http.Response, error) {
				t.Error("a call was made")
				return nil, io.EOF
			})
			body, end := io.Pipe()
			go func() { _, _ = io.WriteString(end, "{") }()
			begin := time.Now()
			resp, err := v.post(generate, body)
			v.must(err)
			if took := time.Since(begin); resp.StatusCode != http.StatusRequestTimeout || took < 30*time.Second || took > 36*time.Second {
				t.Errorf("%s after %s", resp.Status, took)
			}
			_ = resp.Body.Close()
			_ = end.Close()
			v.must(v.end())
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
	}
}
