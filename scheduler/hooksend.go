package scheduler

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/limiter"
)

// attemptError is why an attempt failed, without the address.
type attemptError struct {
	why   string
	after time.Duration // the receiver's Retry-After; 0 for none
}

func (e *attemptError) Error() string { return e.why }

// hookMessage is what a JSON hook is sent, in the form of Standard Webhooks.
type hookMessage struct {
	Type      string          `json:"type"` // "run.finished", "alert", "recovered"
	Timestamp time.Time       `json:"timestamp"`
	Data      hookMessageData `json:"data"`
}

type hookMessageData struct {
	Delivery string          `json:"delivery"` // the same at each attempt
	Run      string          `json:"run"`
	Name     string          `json:"name,omitempty"`
	Text     string          `json:"text"`
	Report   json.RawMessage `json:"report,omitempty"`
	Alerts   []Alert         `json:"alerts,omitempty"` // of "alert" and "recovered"; run is empty then
}

// hookClient sends one attempt: a redirect is followed to the same host only, and only
// where it keeps the method, so that neither content nor signature goes elsewhere.
func hookClient(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: base, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > 3 || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || req.Method != first.Method {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// body is what a hook is sent of an event.
func (h Hook) body(d Delivery, r RunReport) (body []byte, contentType string, err error) {
	switch h.Format {
	case HookMarkdown:
		text := r.Markdown
		if text == "" {
			text = d.Event.sentence(r.Title) + "\n"
		}
		return []byte(text), "text/markdown; charset=utf-8", nil
	case HookSlack:
		body, err = marshalPlain(map[string]string{"text": slackText(d.Event, r)})
		return body, "application/json", err
	}
	kind := d.Event.Kind
	if d.Event.ofRun() {
		kind = "run." + kind
	}
	body, err = marshalPlain(hookMessage{kind, d.Event.At.UTC(), hookMessageData{d.ID, d.Event.Run, r.Title, d.Event.sentence(r.Title), r.JSON, d.Event.Alerts}})
	return body, "application/json", err
}

func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// sentence is the event in words.
func (e RunEvent) sentence(title string) string {
	if !e.ofRun() {
		return e.Text
	}
	if title == "" {
		title = e.Run
	}
	s := title + " " + runEventWords[e.Kind]
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// in has the moments of an event's texts by a clock.
func (e RunEvent) in(zone *time.Location, now time.Time) RunEvent {
	if zone == nil {
		return e
	}
	tell := func(text string) string {
		return limiter.TellInstants(text, func(t time.Time) string { return Window{zone: zone}.Clock(t, now) })
	}
	e.Text, e.Alerts = tell(e.Text), slices.Clone(e.Alerts)
	for i, a := range e.Alerts {
		e.Alerts[i].Text = tell(a.Text)
	}
	return e
}

// slackText has what a telephone shows; &, < and > are Slack's own signs.
func slackText(e RunEvent, r RunReport) string {
	s := e.sentence(r.Title)
	if r.Short != "" {
		s += "\n" + r.Short
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// post makes one attempt at an address.
func (h Hook) post(ctx context.Context, client *http.Client, d Delivery, r RunReport, now time.Time) error {
	body, contentType, err := h.body(d, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return &attemptError{why: "the address is none"}
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "nightshift")
	req.Header.Set("Webhook-Id", d.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	if len(h.Secret) > 0 {
		req.Header.Set("Webhook-Signature", "v1,"+sign(h.Secret, d.ID, now, body))
	}
	resp, err := client.Do(req)
	if err != nil {
		return &attemptError{why: h.Target() + ": " + withoutURL(err)}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	return hookAnswer(h, resp)
}

// sign is Standard Webhooks' v1: HMAC-SHA256 over id, time and body.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// hookAnswer judges an answer: only 2xx says that it arrived.
func hookAnswer(h Hook, resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &attemptError{why: fmt.Sprintf("%s answers %d and sends on elsewhere; nothing is sent there, give its new address", h.Target(), code)}
	default:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &attemptError{why: fmt.Sprintf("%s answers %d %s", h.Target(), code, http.StatusText(code)), after: time.Duration(max(0, seconds)) * time.Second}
	}
}

// withoutURL is an error of the client without the address, which may be a secret.
func withoutURL(err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		if u.Timeout() {
			return "no answer in time"
		}
		return u.Err.Error()
	}
	return err.Error()
}
