package gemini

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConnectionsAreKept: calls that come after as many others open no connection
// of their own; http.DefaultTransport would keep two.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const calls = 12
	var opened atomic.Int64
	var together sync.WaitGroup // holds every call until all are there
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		together.Done()
		together.Wait()
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}]}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	lanes, err := NewLaneMap("p", "", Model{Name: "gemini-3.5-flash"})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTransport(TransportConfig{BaseURL: srv.URL, APIKey: "key", Gate: &fakeGate{}, Lanes: lanes})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		together.Add(calls)
		var all sync.WaitGroup
		for range calls {
			all.Go(func() { askOnce(t, tr, srv.URL) })
		}
		all.Wait()
	}
	if n := opened.Load(); n != calls {
		t.Errorf("%d connections for 3 times %d calls at once", n, calls)
	}
}

func askOnce(t *testing.T, tr *Transport, base string) {
	ctx := WithCaller(context.Background(), Caller{Class: "interactive", Feature: "chat"})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1beta/models/gemini-3.5-flash:generateContent", strings.NewReader(`{"contents":[{"parts":[{"text":"?"}]}]}`))
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	_ = resp.Body.Close()
}
