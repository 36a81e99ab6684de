package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	cookieName = "nightshift_dashboard"
	// sessionFor is how long a login holds: a night and the next day.
	sessionFor = 24 * time.Hour
	// tenantSession begins the role of a session that looks at a tenant, before the digest
	// of its token: so that it ends with the token.
	tenantSession = "tenant-"
)

// session is a cookie's value: who logged in, as what and until when, signed with
// the role's token. So that it needs no store, ends when that token is changed,
// and does not give the token away.
func (d *Dashboard) session(name string, role Role, ends time.Time) string {
	s := base64.RawURLEncoding.EncodeToString([]byte(name)) + "." + string(role) + "." + strconv.FormatInt(ends.Unix(), 10)
	return s + "." + d.sign(role, s)
}

func (d *Dashboard) sign(role Role, s string) string {
	token := d.cfg.Token
	if role == RoleView {
		token = d.cfg.ViewToken
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("nightshift dashboard session " + s))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (d *Dashboard) readSession(value string) (name string, role Role, ok bool) {
	at := strings.LastIndexByte(value, '.')
	if at < 0 {
		return "", "", false
	}
	parts := strings.Split(value[:at], ".")
	if len(parts) != 3 {
		return "", "", false
	}
	switch role = Role(parts[1]); {
	case role == RoleOperate, role == RoleView && d.cfg.ViewToken != "":
	case strings.HasPrefix(string(role), tenantSession) && d.cfg.TenantOf != nil: // whoever asks looks the token up
	default:
		return "", "", false
	}
	if !hmac.Equal([]byte(value[at+1:]), []byte(d.sign(role, value[:at]))) {
		return "", "", false
	}
	plain, err := base64.RawURLEncoding.DecodeString(parts[0])
	ends, err2 := strconv.ParseInt(parts[2], 10, 64)
	return string(plain), role, err == nil && err2 == nil && d.cfg.Now().Unix() < ends
}

// setCookie gives a cookie that no script reads and no other site sends.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Behind a proxy that ends TLS, the connection here is plain.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}
