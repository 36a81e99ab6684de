package dashboard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"nightshift/cmd/internal/tenants"
)

// guard lets in who may ask, and tells what follows who that is. Whoever looks at one
// tenant only gets to what is theirs.
func (d *Dashboard) guard(next, theirs http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.cfg.Token == "" && !isLoopback(hostOf(r.Host)) {
			// A page elsewhere could make its own name point to this machine and
			// then read us as if we were part of it. It cannot choose our name.
			refuse(w, r, http.StatusMisdirectedRequest, "Without a token the dashboard answers as localhost only; it was asked as "+strconv.Quote(r.Host))
			return
		}
		v, wrong, ok := d.identify(r)
		switch {
		case ok && v.Tenant != "":
			theirs.ServeHTTP(w, r.WithContext(withViewer(r.Context(), v)))
		case ok:
			next.ServeHTTP(w, r.WithContext(withViewer(r.Context(), v)))
		case wrong:
			d.wrongToken(w, r, func() { d.askForLogin(w, r) })
		case wantsPage(r):
			http.Redirect(w, r, "/login?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			d.askForLogin(w, r)
		}
	})
}

func (d *Dashboard) askForLogin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Basic realm="nightshift", charset="UTF-8"`)
	refuse(w, r, http.StatusUnauthorized, "log in at /login, or send the token as the password of basic auth or as a bearer token")
}

// wantsPage tells a browser that opens a page from its scripts and from curl.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// identify finds who asks: by a header, else by the cookie. wrong says that a
// token was given, and is not one.
func (d *Dashboard) identify(r *http.Request) (v Viewer, wrong, ok bool) {
	v.From = addressOf(r)
	user, token, given := r.BasicAuth()
	if !given {
		token, given = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	v.Name = personName(user)
	if given && d.likeTenants(token) { // also where nobody else needs one
		ok = d.lookAt(r.Context(), &v, tenants.TokenDigest(token))
		return v, !ok, ok
	}
	if d.cfg.Token == "" {
		v.Name, v.Role = "", RoleOperate
		return v, false, true
	}
	if given {
		v.Role, ok = d.roleOf(token)
		v.Token = string(v.Role) + " token"
		return v, !ok, ok
	}
	c, err := r.Cookie(cookieName)
	if err != nil {
		return v, false, false
	}
	v.Name, v.Role, ok = d.readSession(c.Value)
	v.Token = string(v.Role) + " token"
	if digest, is := strings.CutPrefix(string(v.Role), tenantSession); ok && is {
		ok = d.lookAt(r.Context(), &v, digest)
	}
	return v, false, ok
}

func (d *Dashboard) likeTenants(token string) bool {
	return d.cfg.TenantOf != nil && strings.HasPrefix(token, tenants.TokenPrefix)
}

// lookAt makes somebody one who looks at a tenant, by the digest of their token.
func (d *Dashboard) lookAt(ctx context.Context, v *Viewer, digest string) bool {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Patience)
	defer cancel()
	tenant, id, err := d.cfg.TenantOf(ctx, digest)
	if err != nil {
		d.cfg.Logger.Warn("dashboard: a tenant's token cannot be looked up", "err", err)
	}
	v.Role, v.Tenant, v.Token = RoleTenant, tenant, "tenant "+tenant+" by token "+id
	return err == nil && tenant != ""
}

// roleOf is what a token lets do. It compares with each in constant time, whatever
// the lengths.
func (d *Dashboard) roleOf(token string) (Role, bool) {
	operates, views := sameToken(token, d.cfg.Token), sameToken(token, d.cfg.ViewToken)
	switch {
	case operates:
		return RoleOperate, true
	case views:
		return RoleView, true
	}
	return "", false
}

// sameToken is never true for a token that is not set.
func sameToken(given, token string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && token != ""
}

// mayAct says whether somebody may change something here: the process must be
// there for it too.
func (d *Dashboard) mayAct(ctx context.Context) bool {
	return d.cfg.Write && viewerOf(ctx).Role.may(RoleOperate)
}

// addressOf is where a request came from, without the port. Behind a proxy it is
// the proxy: what a header claims is not looked at.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
