package gemini

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

type rawKey struct{}

// RawAnswer is the body of the last answer as it came: the SDK reads numbers of what it
// has no type for as floats, which hold whole numbers up to 2^53 only.
type RawAnswer struct{ b bytes.Buffer }

// Bytes are what was read of it so far.
func (r *RawAnswer) Bytes() []byte { return r.b.Bytes() }

// KeepRaw gives a context whose answers NewClient's client keeps as they come.
func KeepRaw(ctx context.Context) (context.Context, *RawAnswer) {
	r := &RawAnswer{}
	return context.WithValue(ctx, rawKey{}, r), r
}

// rawKeeper copies answers that somebody wants whole.
type rawKeeper struct{ http.RoundTripper }

func (k rawKeeper) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := k.RoundTripper.RoundTrip(req)
	if raw, ok := req.Context().Value(rawKey{}).(*RawAnswer); ok && err == nil {
		raw.b.Reset()
		resp.Body = copied{io.TeeReader(resp.Body, &raw.b), resp.Body}
	}
	return resp, err
}

type copied struct {
	io.Reader
	io.Closer
}
