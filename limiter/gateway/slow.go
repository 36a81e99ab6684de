package gateway

import (
	"net/http"
	"time"
)

// slowWriter gives the client a time for each piece of an answer instead of one
// for the whole: a stream may last for minutes and be silent in between, but a
// client that does not read holds its call, and a permit, for no longer.
type slowWriter struct {
	http.ResponseWriter
	rc   *http.ResponseController
	each time.Duration
}

func newSlowWriter(w http.ResponseWriter, each time.Duration) *slowWriter {
	return &slowWriter{ResponseWriter: w, rc: http.NewResponseController(w), each: each}
}

// Write writes within the time of one piece.
func (w *slowWriter) Write(p []byte) (int, error) {
	w.start()
	defer w.stop()
	return w.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController calls.
func (w *slowWriter) FlushError() error {
	w.start()
	defer w.stop()
	return w.rc.Flush()
}

// Unwrap gives the server's writer to http.ResponseController.
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *slowWriter) start() { _ = w.rc.SetWriteDeadline(time.Now().Add(w.each)) } // a recorder has none

// stop takes the deadline off: over HTTP/2 it would end a stream that is only silent.
func (w *slowWriter) stop() { _ = w.rc.SetWriteDeadline(time.Time{}) }
