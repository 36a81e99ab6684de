package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
)

// trailed gives a stream's usage and cost behind its last byte, as HTTP trailers,
// since its headers have long gone by then. Only to clients that send
// "TE: trailers" (RFC 9110, 6.5.1): SDKs pass over them, but `curl -i` prints
// them amid the body.
func (f *forwarded) trailed(resp *http.Response) {
	if resp.Header.Get("Content-Length") != "" || !wantsTrailers(f.r.Header) {
		return // an answer of known length has no room behind it
	}
	if resp.Trailer == nil {
		resp.Trailer = http.Header{}
	}
	resp.Trailer[headerUsage], resp.Trailer[headerCost] = nil, nil
	resp.Body = &trailedBody{resp.Body, f, resp.Trailer}
}

func wantsTrailers(h http.Header) bool {
	for _, v := range h.Values("Te") {
		for coding := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(coding), "trailers") {
				return true
			}
		}
	}
	return false
}

// trailedBody fills the trailers at the end of a stream that is whole.
type trailedBody struct {
	io.ReadCloser
	f       *forwarded
	trailer http.Header
}

// Read reads on. At the end the transport has settled the call.
func (b *trailedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.f.describeUsage(b.trailer)
	}
	return n, err
}
