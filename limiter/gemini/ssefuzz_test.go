package gemini

import (
	"fmt"
	"testing"
)

// piecewise is what an answer looks like that came in pieces cut at these places.
func piecewise(body []byte, cuts ...int) string {
	a := newAnswer()
	e := &events{answer: a}
	from := 0
	for _, cut := range cuts {
		e.push(body[from:cut])
		from = cut
	}
	e.push(body[from:])
	return fmt.Sprintf("%+v %v %d %q %q %q %d %v %v %d %v %v %v", a.usage, a.hasUsage, a.searches, a.failure, a.blocked, a.finish,
		a.finished, a.visible, a.spoke, a.objects, a.embedded, a.cut, a.scan.state)
}

// FuzzEvents: a stream says the same however its bytes come, and as much with CR LF and
// comments in it as without.
func FuzzEvents(f *testing.F) {
	for _, body := range []string{
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7}}\n\n",
		"data: {\"a\":1,\ndata: \"b\":2}\n\ndata: [DONE]\n\n", "event: x\nid: 1\ndata:{}\r\n\r\n", "data: {\"cut\":\n\ndata: {}\n\n",
		"{\"error\":{\"code\":429,\"message\":\"m\"}}\n", ": comment\ndat\ndata\n\n", "da", "data: \"\\\"", "\n\n", "<html>",
		"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\ndata: {\"error\":{\"status\":\"INTERNAL\"}}",
	} {
		f.Add([]byte(body), 3, 9)
	}
	f.Fuzz(func(t *testing.T, body []byte, first, second int) {
		first = max(0, min(first, len(body)))
		second = max(first, min(second, len(body)))
		whole := piecewise(body)
		if got := piecewise(body, first, second); got != whole {
			t.Errorf("%q cut at %d and %d: %s, whole %s", body, first, second, got, whole)
		}
		each := make([]int, len(body))
		for i := range each {
			each[i] = i
		}
		if got := piecewise(body, each...); got != whole {
			t.Errorf("%q byte by byte: %s, whole %s", body, got, whole)
		}
		if len(body) > 0 && body[len(body)-1] == '\n' {
			if got := piecewise(append(body[:len(body):len(body)], ": still here\n"...)); got != whole {
				t.Errorf("%q with a comment behind it: %s, without %s", body, got, whole)
			}
		}
	})
}

// TestDoneAtTheEnd: the line with which some front ends end a stream does not make a
// whole answer a cut one, wherever the pieces of it are cut.
func TestDoneAtTheEnd(t *testing.T) {
	body := []byte("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}\n\ndata: [DONE]\n\n")
	for cut := range body {
		a := newAnswer()
		e := &events{answer: a}
		e.push(body[:cut])
		e.push(body[cut:])
		if v := judgeAnswer(a, route{rule: rules["generateContent"]}, nil, noon); v != nil {
			t.Fatalf("cut at %d: %+v", cut, v)
		}
	}
}
