package gemini

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// slowly gives each piece after its time.
type slowly struct {
	pieces []string
	after  []time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	pass(s.after[0])
	n := copy(p, s.pieces[0])
	s.pieces, s.after = s.pieces[1:], s.after[1:]
	return n, nil
}

// TestFirstToken is when the first part with anything in it came: not the
// headers, not an empty chunk, not the end.
func TestFirstToken(t *testing.T) {
	empty := "data: {\"candidates\":[{\"content\":{\"role\":\"model\"}}]}\r\n\r\n"
	for name, c := range map[string]struct {
		pieces []string
		after  []time.Duration
		want   time.Duration
	}{
		"slow":      {[]string{empty, chunk("", "", 8, 0), chunk("a", "", 8, 1), chunk("b", "STOP", 8, 2)}, []time.Duration{time.Second, time.Second, 3 * time.Second, 9 * time.Second}, 5 * time.Second},
		"at once":   {[]string{chunk("a", "STOP", 8, 1)}, []time.Duration{0}, 1},
		"no token":  {[]string{empty}, []time.Duration{time.Second}, 0},
		"a thought": {[]string{"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]}}]}\r\n\r\n", chunk("a", "STOP", 8, 1)}, []time.Duration{2 * time.Second, time.Second}, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			records := &kept{}
			tr := newTestTransport(t, sender(func(*http.Request) (*http.Response, error) {
				resp := reply(200, "text/event-stream", "")
				resp.Body = io.NopCloser(&slowly{c.pieces, c.after})
				return resp, nil
			}), &fakeGate{}, func(cfg *TransportConfig) { cfg.Records = records })
			ctx, obs := callCtx(t.Context())
			resp, err := tr.RoundTrip(post(ctx, streamPath, question))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
			if obs.FirstToken != c.want {
				t.Errorf("%s: first token after %s, want %s", name, obs.FirstToken, c.want)
			}
			want := c.want.Milliseconds()
			if c.want > 0 && want == 0 {
				want = 1
			}
			if r := records.last(t); r.FirstMS != want {
				t.Errorf("%s: recorded %d ms, want %d", name, r.FirstMS, want)
			}
		})
	}
}

// TestNoFirstTokenOfAUnaryCall.
func TestNoFirstTokenOfAUnaryCall(t *testing.T) {
	records := &kept{}
	tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{}, func(cfg *TransportConfig) { cfg.Records = records })
	if _, err := askAs(t, tr, "bulk"); err != nil || records.last(t).FirstMS != 0 {
		t.Errorf("%v, %+v", err, records.last(t))
	}
}
