package dashboard

import (
	"net/http"
	"strings"
)

// routeLogin adds the pages that log in and out. They are there with a token
// only.
func (d *Dashboard) routeLogin(mux *http.ServeMux) {
	if d.cfg.Token == "" {
		return
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		d.showLogin(w, http.StatusOK, r.FormValue("to"), "")
	})
	mux.HandleFunc("POST /login", d.login)
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		d.setCookie(w, r, "", -1)
		http.Redirect(w, r, "/login", http.StatusSeeOther)
	})
}

func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	to := r.FormValue("to")
	if !d.isToken(strings.TrimSpace(r.PostFormValue("token"))) {
		d.cfg.Logger.Warn("dashboard: wrong token", "from", r.RemoteAddr)
		d.showLogin(w, http.StatusUnauthorized, to, "That is not the token.")
		return
	}
	d.setCookie(w, r, d.session(d.cfg.Now().Add(sessionFor)), int(sessionFor.Seconds()))
	http.Redirect(w, r, localPath(to), http.StatusSeeOther)
}

func (d *Dashboard) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Behind a proxy that ends TLS, the connection here is plain.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// localPath keeps a redirect on this site.
func localPath(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(to, "/login") {
		return "/"
	}
	return to
}

func (d *Dashboard) showLogin(w http.ResponseWriter, status int, to, problem string) {
	d.render(w, status, "login.html", map[string]string{"To": localPath(to), "Problem": problem})
}
