package geminitest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// RoundTrip answers a request without a network, so that whole systems can run
// in the virtual time of testing/synctest. It implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if forAdmin(r) {
		return recorded(s.admin, r), nil
	}
	v, answer, err := s.answer(r)
	if err != nil {
		return nil, err
	}
	if answer.end == endReset {
		v.end(answer, 0)
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	resp := &http.Response{
		StatusCode: answer.status, Status: statusLine(answer.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.headers(), Request: r, ContentLength: -1,
	}
	if answer.chunks != nil {
		resp.Body = &streamBody{ctx: r.Context(), v: v, r: answer, at: time.Now()}
		return resp, nil
	}
	v.end(answer, answer.status)
	resp.ContentLength = int64(len(answer.body))
	resp.Body = io.NopCloser(bytes.NewReader(answer.body))
	if answer.end == endCut {
		resp.ContentLength *= 2
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(answer.body), failing{io.ErrUnexpectedEOF}))
	}
	return resp, nil
}

func statusLine(code int) string {
	return strconv.Itoa(code) + " " + http.StatusText(code)
}

// failing is a reader that gives an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// streamBody gives the chunks of a stream, each at its time.
type streamBody struct {
	ctx context.Context
	v   *visit
	r   *reply

	all atomic.Bool // every chunk was read

	mu   sync.Mutex // guards what follows
	at   time.Time  // when the next chunk is due
	next int
	rest []byte
	err  error
}

// Read waits until a chunk is due.
func (b *streamBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.rest) == 0 && b.err == nil {
		b.err = b.advance()
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	b.all.Store(len(b.rest) == 0 && b.next == len(b.r.chunks))
	return n, nil
}

func (b *streamBody) advance() error {
	if b.next == len(b.r.chunks) {
		b.v.end(b.r, b.r.status)
		if b.r.end == endCut {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	if err := sleep(b.ctx, time.Until(b.at)); err != nil {
		b.v.end(b.r, statusClientGone)
		return err
	}
	b.rest = b.r.chunks[b.next]
	b.next++
	b.at = b.at.Add(b.r.gap)
	return nil
}

// Close ends the call, also one whose answer was not read to its end. It does
// not wait for a Read.
func (b *streamBody) Close() error {
	status := statusClientGone
	if b.all.Load() {
		status = b.r.status
	}
	b.v.end(b.r, status)
	return nil
}
