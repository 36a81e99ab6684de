package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	cookieName = "nightshift_dashboard"
	// sessionFor is how long a login holds: a night and the next day.
	sessionFor = 24 * time.Hour
)

// guard lets in who may ask.
func (d *Dashboard) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case d.cfg.Token == "" && !isLoopback(hostOf(r.Host)):
			// A page elsewhere could make its own name point to this machine and
			// then read us as if we were part of it. It cannot choose our name.
			refuse(w, r, http.StatusMisdirectedRequest, "Without a token the dashboard answers as localhost only; it was asked as "+strconv.Quote(r.Host))
		case d.cfg.Token == "" || d.allowed(r):
			next.ServeHTTP(w, r)
		case wantsPage(r):
			http.Redirect(w, r, "/login?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="nightshift", charset="UTF-8"`)
			refuse(w, r, http.StatusUnauthorized, "log in at /login, or send the token as the password of basic auth or as a bearer token")
		}
	})
}

// wantsPage tells a browser that opens a page from its scripts and from curl.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (d *Dashboard) allowed(r *http.Request) bool {
	if _, password, ok := r.BasicAuth(); ok {
		return d.isToken(password)
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return d.isToken(bearer)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && d.isSession(c.Value)
}

// isToken compares in constant time, whatever the lengths.
func (d *Dashboard) isToken(s string) bool {
	a, b := sha256.Sum256([]byte(s)), sha256.Sum256([]byte(d.cfg.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// session is a cookie's value: when it ends, signed with the token. So that it
// needs no store, ends when the token is changed, and does not give the token
// away.
func (d *Dashboard) session(ends time.Time) string {
	at := strconv.FormatInt(ends.Unix(), 10)
	return at + "." + d.sign(at)
}

func (d *Dashboard) sign(s string) string {
	mac := hmac.New(sha256.New, []byte(d.cfg.Token))
	mac.Write([]byte("nightshift dashboard session " + s))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (d *Dashboard) isSession(value string) bool {
	at, sign, ok := strings.Cut(value, ".")
	if !ok || !hmac.Equal([]byte(sign), []byte(d.sign(at))) {
		return false
	}
	ends, err := strconv.ParseInt(at, 10, 64)
	return err == nil && d.cfg.Now().Unix() < ends
}
