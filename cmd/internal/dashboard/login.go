package dashboard

import (
	"net/http"
	"strings"

	"nightshift/cmd/internal/tenants"
)

// routeLogin adds the pages that log in and out. They are there with a token
// only.
func (d *Dashboard) routeLogin(mux *http.ServeMux) {
	if d.cfg.Token == "" {
		return
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		d.showLogin(w, http.StatusOK, loginForm{To: r.FormValue("to")})
	})
	mux.HandleFunc("POST /login", d.login)
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		setCookie(w, r, cookieName, "", -1)
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	})
}

// loginForm is what the form shows.
type loginForm struct{ To, Name, Problem string }

func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	form := loginForm{To: r.FormValue("to"), Name: personName(r.PostFormValue("name")), Problem: "That is not the token."}
	token := strings.TrimSpace(r.PostFormValue("token"))
	role, ok := d.roleOf(token)
	if d.likeTenants(token) {
		digest := tenants.TokenDigest(token)
		role, ok = Role(tenantSession+digest), d.lookAt(r.Context(), &Viewer{}, digest)
	}
	if !ok {
		d.wrongToken(w, r, func() { d.showLogin(w, http.StatusUnauthorized, form) })
		return
	}
	setCookie(w, r, cookieName, d.session(form.Name, role, d.cfg.Now().Add(sessionFor)), int(sessionFor.Seconds()))
	http.Redirect(w, r, localPath(form.To), http.StatusSeeOther)
}

// localPath keeps a redirect on this site.
func localPath(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(to, "/login") {
		return "/"
	}
	return to
}

func (d *Dashboard) showLogin(w http.ResponseWriter, status int, form loginForm) {
	form.To = localPath(form.To)
	d.render(w, status, "login.html", form)
}
