package tenants

import (
	"net/http"
	"strings"
	"time"
)

// secretKey is a key with its secret, which is shown this once.
type secretKey struct {
	Secret string `json:"secret"`
	Key    *Key   `json:"key"`
}

func (v *visit) keys() error {
	if _, err := v.Book.Show(v.r.Context(), v.ref); err != nil {
		return err
	}
	list, err := v.Book.ListKeys(v.r.Context(), v.ref.Tenant)
	if err != nil {
		return err
	}
	for i := range list {
		v.hideKey(&list[i])
	}
	return v.answer(http.StatusOK, struct {
		Keys []Key `json:"keys"`
	}{list})
}

func (v *visit) hideKey(k *Key) {
	if v.by.Tenant != "" && k.Stopped != nil {
		k.Stopped = &Stop{At: k.Stopped.At}
	}
}

func (v *visit) showKey() error {
	k, err := v.Book.ShowKey(v.r.Context(), v.ref.Tenant, v.r.PathValue("key"))
	if err != nil {
		return err
	}
	v.hideKey(k)
	return v.tagged(http.StatusOK, k.Tag, k)
}

func (v *visit) addKey() error {
	var d KeyDraft
	if err := v.read(&d); err != nil {
		return wrongIf(err, (Terms{Limits: d.Limits}).check())
	}
	secret, k, err := v.Book.AddKey(v.r.Context(), v.by.By, v.ref.Tenant, d)
	if err != nil {
		return err
	}
	v.act.Target += " key/" + k.ID
	v.act.After = strings.Join(append([]string{"class " + k.Class}, k.Words()...), ", ")
	v.w.Header().Set("Location", v.r.URL.EscapedPath()+"/"+k.ID)
	return v.tagged(http.StatusCreated, k.Tag, secretKey{secret, k})
}

// answersOfKey are the fields of a key that only answers have.
var answersOfKey = []string{"id", "name", "team", "class", "feature", "features", "adopted", "created", "expires", "revoked", "old_secret_until", "state", "enforced", "stopped"}

func (v *visit) putKey() error {
	var t Terms
	if err := v.read(&t, answersOfKey...); err != nil {
		return wrongIf(err, t.check())
	}
	c, err := v.condition()
	if err != nil {
		return err
	}
	id := v.r.PathValue("key")
	if was, err := v.Book.ShowKey(v.r.Context(), v.ref.Tenant, id); err == nil {
		v.act.Before = strings.Join(was.Words(), ", ")
	}
	k, err := v.Book.PutKey(v.r.Context(), v.by.By, v.ref.Tenant, id, t, c)
	if err != nil {
		return err
	}
	v.act.After = strings.Join(k.Words(), ", ")
	return v.tagged(http.StatusOK, k.Tag, k)
}

func (v *visit) rotateKey() error {
	d := struct {
		Grace   *int64    `json:"grace_seconds"` // default a day
		Expires time.Time `json:"expires"`       // zero: as before
	}{}
	if err := v.read(&d); err != nil {
		return err
	}
	grace := 24 * time.Hour
	if d.Grace != nil {
		grace = time.Duration(min(max(*d.Grace, -1), int64(mostGrace/time.Second)+1)) * time.Second
	}
	secret, k, err := v.Book.RotateKey(v.r.Context(), v.by.By, v.ref.Tenant, v.r.PathValue("key"), grace, d.Expires)
	if err != nil {
		return err
	}
	v.act.After = "another secret; the old one holds for " + grace.String()
	return v.answer(http.StatusOK, secretKey{secret, k})
}

func (v *visit) revokeKey() error {
	k, err := v.Book.RevokeKey(v.r.Context(), v.by.By, v.ref.Tenant, v.r.PathValue("key"))
	if err != nil {
		return err
	}
	v.act.After = "revoked"
	return v.answer(http.StatusOK, k)
}

// secretToken is a token with its text, which is shown this once.
type secretToken struct {
	Secret string `json:"secret"`
	Token  Token  `json:"token"`
}

// tokens are an operator's to see: whoever has one of them needs not know of the others.
func (v *visit) tokens() error {
	if v.by.Tenant != "" {
		return ErrNotThere
	}
	if _, err := v.Book.Show(v.r.Context(), v.ref); err != nil {
		return err
	}
	list, err := v.Book.Tokens(v.r.Context(), v.ref.Tenant)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, struct {
		Tokens []Token `json:"tokens"`
	}{list})
}

func (v *visit) addToken() error {
	var d struct {
		Name    string    `json:"name"`
		Expires time.Time `json:"expires"` // zero: never
	}
	if err := v.read(&d); err != nil {
		return err
	}
	text, t, err := v.Book.AddToken(v.r.Context(), v.by.By, v.ref.Tenant, d.Name, d.Expires)
	if err != nil {
		return err
	}
	v.act.Target, v.act.After = v.act.Target+" token/"+t.ID, t.Name
	return v.answer(http.StatusCreated, secretToken{text, t})
}

func (v *visit) dropToken() error {
	if err := v.Book.DropToken(v.r.Context(), v.by.By, v.ref.Tenant, v.r.PathValue("token")); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}
