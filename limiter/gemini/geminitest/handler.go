package geminitest

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServeHTTP answers a request over a real connection: Gemini's own paths, and
// the server's under /sim/. It implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if forAdmin(r) {
		s.admin.ServeHTTP(w, r)
		return
	}
	v, answer, err := s.answer(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	if answer.end == endReset {
		v.end(answer, 0)
		reset(w)
		return
	}
	for name, values := range answer.headers() {
		w.Header()[name] = values
	}
	if answer.chunks != nil {
		v.send(w, r, answer)
		return
	}
	size := len(answer.body)
	if answer.end == endCut {
		size *= 2 // so that the client knows that something is missing
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	v.end(answer, answer.status)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // the client may have gone
	abortIfCut(w, answer)
}

// send writes a stream chunk by chunk.
func (v *visit) send(w http.ResponseWriter, r *http.Request, answer *reply) {
	status := statusClientGone
	defer func() { v.end(answer, status) }()
	flush := http.NewResponseController(w).Flush
	w.WriteHeader(answer.status)
	due := time.Now()
	for _, chunk := range answer.chunks {
		if sleep(r.Context(), time.Until(due)) != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(chunk); err != nil {
			return
		}
		_ = flush() // nothing to flush in a recorder
		due = due.Add(answer.gap)
	}
	status = answer.status
	abortIfCut(w, answer)
}

// abortIfCut breaks the connection in the middle of the answer, but lets out
// what was written before.
func abortIfCut(w http.ResponseWriter, answer *reply) {
	if answer.end == endCut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// reset closes the connection hard, where that can be done.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no data is pending: RST instead of FIN
	}
	_ = conn.Close()
}
