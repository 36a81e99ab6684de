package gemini

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
)

// watch lets a stream pass and sees what is in it.
func (c *call) watch(resp *http.Response) io.ReadCloser {
	s := &streamBody{call: c, body: resp.Body, header: resp.Header, answer: newAnswer()}
	s.progress.charged = c.obs.Estimate
	s.keeping = c.keeper() != nil
	s.push = s.answer.push
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		s.push = (&events{answer: s.answer}).push
	}
	s.stop = context.AfterFunc(c.ctx, func() { s.finish(context.Cause(c.ctx)) })
	return s
}

// streamBody passes a stream's bytes on untouched. The call ends at EOF, at an
// error, when it is closed, or when the context ends; a body that nobody reads
// or closes lapses by its permit's lease.
type streamBody struct {
	call   *call
	body   io.ReadCloser
	header http.Header
	stop   func() bool // of the context's watch

	mu       sync.Mutex // guards what follows: the context may end the call during a read
	answer   *answer
	push     func([]byte)
	progress progress
	keeping  bool   // the answer is wanted again
	kept     []byte // of it so far
}

func (s *streamBody) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	s.mu.Lock()
	s.push(p[:n])
	s.collect(p[:n])
	s.noteFirst()
	s.charge()
	s.mu.Unlock()
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		s.end(nil)
		return n, err
	}
	err = redactError(err, s.call.key)
	s.end(err)
	return n, err
}

// noteFirst keeps when the first token came: the first part that holds anything.
func (s *streamBody) noteFirst() {
	if c := s.call; s.answer.spoke && c.obs.FirstToken == 0 {
		c.obs.FirstToken = max(1, c.t.cfg.Now().Sub(c.sentAt))
	}
}

// Close ends the call. A stream that had all its parts is whole, even when
// nobody read the end of file behind them.
func (s *streamBody) Close() error {
	err := s.body.Close()
	s.mu.Lock()
	whole := s.answer.finished > 0 && !s.answer.scan.begun()
	s.mu.Unlock()
	if whole {
		s.end(nil)
	} else {
		s.end(errAbandoned)
	}
	return err
}

func (s *streamBody) end(cause error) {
	s.stop()
	s.finish(cause)
}

// finish may be called often and by anyone; only the first one counts, and all
// return after it is done.
func (s *streamBody) finish(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call.end(s.answer, Answer{Status: s.call.obs.Status, Header: s.header, Err: cause}, cause)
	s.keep(cause)
}
