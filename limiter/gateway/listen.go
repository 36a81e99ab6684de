package gateway

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"nightshift/limiter"
)

// DefaultAddr is where a gateway listens when nobody says otherwise.
const DefaultAddr = "127.0.0.1:8787"

// Listen listens on addr. Without a host it takes loopback: whoever wants to be
// reached from elsewhere names the address.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(cmp.Or(addr, DefaultAddr))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
}

// bounded takes so many connections at once, and no more: who comes then waits
// in the system's queue until one of them ends, which idle and slow ones do by
// the server's bounds.
type bounded struct {
	net.Listener
	places chan struct{} // one token for each open connection
	done   chan struct{} // closed with the listener
	once   sync.Once
	log    *slog.Logger
	noise  noise
}

func newBounded(l net.Listener, most int, log *slog.Logger) *bounded {
	return &bounded{Listener: l, places: make(chan struct{}, most), done: make(chan struct{}), log: log}
}

// Accept waits for a connection, and for a place for it first.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	default:
		if n, due := b.noise.note("connections", time.Now()); due {
			b.log.Warn("all connections are taken: others wait until one ends", "open", cap(b.places), "count", n)
		}
		select {
		case b.places <- struct{}{}:
		case <-b.done:
			return nil, net.ErrClosed
		}
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &conn{Conn: c, free: func() { <-b.places }}, nil
}

// Close ends the listening; open connections stay.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

// conn is a client's connection.
type conn struct {
	net.Conn
	free func()
	once sync.Once
}

// Close gives the place back.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.free)
	return err
}

// CloseWrite lets a client that still sends read the answer first.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// What net/http itself answers, without asking any handler, to what it cannot
// read as a request (server.go of net/http: errorHeaders, and the one for plain
// HTTP where TLS is spoken).
var (
	ownHeaders  = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	notExpected = []byte("HTTP/1.1 417 Expectation Failed\r\n")
	notTLS      = []byte("HTTP/1.0 400 Bad Request\r\n\r\n")
)

// Write puts what net/http itself says into Gemini's shape. Anything else
// passes: no answer of a handler begins so.
func (c *conn) Write(p []byte) (int, error) {
	answer, is := c.reshaped(p)
	if !is {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *conn) reshaped(p []byte) ([]byte, bool) {
	if len(p) > 512 || !bytes.HasPrefix(p, []byte("HTTP/1.")) {
		return nil, false
	}
	if text, is := bytes.CutPrefix(p, notTLS); is {
		return unread(400, fmt.Sprintf("%s Use https:// in the base URL.", bytes.TrimSpace(text))), true
	}
	if bytes.HasPrefix(p, notExpected) && !bytes.Contains(p, []byte(headerDecision)) { // ours have one
		return unread(http.StatusExpectationFailed, "Expect: only 100-continue is known"), true
	}
	line, text, is := bytes.Cut(p, ownHeaders)
	if !is || len(line) < len("HTTP/1.1 400") {
		return nil, false
	}
	code, err := strconv.Atoi(string(line[9:12]))
	return unread(code, "the request cannot be read: "+string(text)), err == nil
}

// unread is the whole answer to what is no request.
func unread(code int, text string) []byte {
	status := invalidArgument
	if code >= http.StatusInternalServerError {
		status = unimplemented
	}
	body := fail(code, status, "%s", text).body()
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: %d\r\n"+
		"X-Content-Type-Options: nosniff\r\n%s: %s\r\n%s: %s\r\nConnection: close\r\n\r\n%s", code, http.StatusText(code), len(body),
		headerDecision, limiter.RejectedLocally, headerTraceID, traceOf(nil), body)
}
