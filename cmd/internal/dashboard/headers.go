package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"

	"nightshift/cmd/internal/tenants"
)

// pageCSP lets a page of ours load its own files and nothing else. asynqmon's
// index gets one with a nonce (index.go).
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// withHeaders sets what each answer carries; a handler may replace it.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pageCSP)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// refuse answers with a reason. asynqmon's own errors are text and its pages
// print the body as it is, so whoever accepts text gets text; others get
// {"error": "…"}, and whoever asks the API its problem details.
func refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	if strings.HasPrefix(r.URL.Path, tenants.Prefix) {
		tenants.Problem(w, status, reason)
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "text/plain") {
		http.Error(w, reason, status)
		return
	}
	answerJSON(w, status, map[string]string{"error": reason})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
