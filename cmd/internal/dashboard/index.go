package dashboard

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"html"
	"net/http"
	"regexp"
	"strconv"
)

// externalFonts are the two stylesheets that asynqmon's index loads from
// Google. The page looks the same with the system's font, and nobody is told
// that it was opened.
var externalFonts = regexp.MustCompile(`<link rel="stylesheet" href="https://fonts\.googleapis\.com/[^"]*"/>`)

// serveIndex is asynqmon's page with the banner in it.
func (d *Dashboard) serveIndex(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	d.mon.ServeHTTP(rec, r)
	if rec.status != http.StatusOK || !bytes.Contains(rec.body.Bytes(), []byte(`<div id="root">`)) {
		rec.replay(w)
		return
	}
	nonce := newNonce()
	h := w.Header()
	h.Set("Content-Security-Policy", indexCSP(nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	page := d.rewriteIndex(rec.body.Bytes(), nonce, d.mayAct(r.Context()))
	h.Set("Content-Length", strconv.Itoa(len(page)))
	_, _ = w.Write(page)
}

// indexCSP lets asynqmon's own scripts run; its style library writes <style>
// elements, which it gives no nonce.
func indexCSP(nonce string) string {
	return "default-src 'none'; script-src 'self' 'nonce-" + nonce + "'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func (d *Dashboard) rewriteIndex(page []byte, nonce string, write bool) []byte {
	page = externalFonts.ReplaceAll(page, nil)
	page = bytes.ReplaceAll(page, []byte("<script>"), []byte(`<script nonce="`+nonce+`">`))
	page = bytes.Replace(page, []byte("<title>Asynq - Monitoring</title>"), []byte("<title>nightshift queues</title>"), 1)
	page = bytes.Replace(page, []byte("</head>"), []byte(`<link rel="stylesheet" href="/assets/banner.css"/></head>`), 1)
	mode := "read-only"
	if write {
		mode = "write"
	} else {
		page = bytes.Replace(page, []byte(`FLAG_READ_ONLY="false"`), []byte(`FLAG_READ_ONLY="true"`), 1)
	}
	banner := `<aside id="nightshift" aria-label="nightshift" data-mode="` + html.EscapeString(mode) + `"></aside><script src="/assets/banner.js"></script><div id="root">`
	return bytes.Replace(page, []byte(`<div id="root">`), []byte(banner), 1)
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// recorder keeps an answer, to change it before it goes out.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) replay(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes())
}
