package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// body is a request's body, bounded in size, in the memory that it takes, and
// in the time that the client may take, for each piece and for all.
type body struct {
	g     *Gateway
	rc    *http.ResponseController
	src   io.ReadCloser
	sized bool          // the length was announced, and its pages are taken
	read  int64         //
	pages int           // taken from the memory
	err   error         // why reading ended, if not at the end
	spent time.Duration // waiting for the client
}

// bodyOf takes the memory for a request's body, or says why there is none.
func (g *Gateway) bodyOf(ctx context.Context, r *http.Request, rc *http.ResponseController) (*body, *apiError) {
	b := &body{g: g, rc: rc, src: r.Body, sized: r.ContentLength >= 0}
	if r.ContentLength > g.cfg.Bounds.Body {
		return nil, g.tooLarge()
	}
	if r.ContentLength <= pageSize {
		return b, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n := pagesOf(r.ContentLength)
	if !g.memory.take(ctx, n) {
		return nil, noMemory()
	}
	b.pages = n
	return b, nil
}

// Read reads from the client. An error that is not the end is an *apiError, so
// that it is told apart from what goes wrong on the way out.
func (b *body) Read(p []byte) (int, error) {
	begin := time.Now()
	_ = b.rc.SetReadDeadline(begin.Add(b.left())) // not every connection has one
	n, err := b.src.Read(p)
	b.read += int64(n)
	b.spent += time.Since(begin)
	if err == nil || errors.Is(err, io.EOF) {
		// The server itself watches the connection from here on.
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	if grown := b.grow(); grown != nil {
		err = grown
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	b.err = clientError(err)
	return n, b.err
}

// leastRate is how many bytes a second of a body must come on average once the
// time of one piece is over: else a byte now and then would hold a connection and
// memory for as long as a call may take. 128 kbit/s is less than any link that
// servers have, and lets the largest body come within Bounds.Call.
const leastRate = 16 << 10

// left is how long the next read may wait: the time of one piece, or what is
// left of the whole body's.
func (b *body) left() time.Duration {
	each := b.g.cfg.Bounds.Chunk
	earned := time.Duration(b.read) * time.Second / leastRate
	return min(each, each+earned-b.spent)
}

// grow takes the memory of a body whose length nobody announced. A buffer that
// grows by doubling may hold twice what is in it.
func (b *body) grow() error {
	if b.read > b.g.cfg.Bounds.Body {
		return b.g.tooLarge()
	}
	for !b.sized && b.read > pageSize && b.pages < 2*pagesOf(b.read) {
		if !b.g.memory.try() {
			return noMemory()
		}
		b.pages++
	}
	return nil
}

// Close closes the client's body.
func (b *body) Close() error { return b.src.Close() }

func (b *body) free() {
	b.g.memory.give(b.pages)
	b.pages = 0
}

func clientError(err error) *apiError {
	var own *apiError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(http.StatusRequestTimeout, deadlineExceeded, "the request's body came too slowly: want %d KB a second and no long pause", leastRate>>10)
	}
	return badRequest("the request's body ended before its announced length, or could not be read")
}

func (g *Gateway) tooLarge() *apiError {
	return fail(http.StatusRequestEntityTooLarge, invalidArgument,
		"Request payload size exceeds the limit: %d bytes. Upload the media with the Files API.", g.cfg.Bounds.Body)
}

func noMemory() *apiError {
	return busy(time.Second, "too many large requests at once: no memory is left for this one's body")
}

// How much of a body that nobody wants is read for how long before it is
// refused: most clients write all of a request before they look at the answer,
// and would see a broken connection instead of it.
const (
	drainMost = 64 << 20
	drainTime = 5 * time.Second
)

// drain reads what the client still sends. The deadline stays when it sends
// more or slower than that: the server gives the connection up then.
func drain(r *http.Request, rc *http.ResponseController) {
	if r.Body == nil || r.Body == http.NoBody || r.Header.Get("Expect") != "" {
		return
	}
	_ = rc.SetReadDeadline(time.Now().Add(drainTime))
	if n, err := io.CopyN(io.Discard, r.Body, drainMost); errors.Is(err, io.EOF) && n < drainMost {
		_ = rc.SetReadDeadline(time.Time{})
	}
}
