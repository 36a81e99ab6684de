package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// saidCookie carries what came of an action to the page that is shown next.
const saidCookie = "nightshift_said"

// said is what came of an action.
type said struct {
	Text  string `json:"t"`
	Level Level  `json:"l"`
}

func leaveSaid(w http.ResponseWriter, r *http.Request, s said) {
	s.Text = cut(s.Text, 600) // what a cookie has room for
	b, _ := json.Marshal(s)   // strings always can be written
	setCookie(w, r, saidCookie, base64.RawURLEncoding.EncodeToString(b), 60)
}

// takeSaid reads it, once. Nobody but this site can have set it: the browser's
// other sites cannot, and their users only for themselves.
func takeSaid(w http.ResponseWriter, r *http.Request) (s said) {
	c, err := r.Cookie(saidCookie)
	if err != nil || c.Value == "" {
		return s
	}
	setCookie(w, r, saidCookie, "", -1)
	b, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return said{}
	}
	return s
}
