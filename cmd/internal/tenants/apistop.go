package tenants

import (
	"net/http"
	"strings"
)

// stop begins an emergency stop. One that stands already stays as it is.
func (v *visit) stop() error {
	var d struct {
		Reason string `json:"reason"`
	}
	if err := v.read(&d); err != nil {
		return err
	}
	if len([]rune(d.Reason)) > mostNote {
		return wrong("reason", "want at most %d characters", mostNote)
	}
	return v.emergency(func(node string) (Deed, error) {
		return v.Stop(v.r.Context(), v.by.By, node, strings.TrimSpace(d.Reason))
	})
}

// lift ends one.
func (v *visit) lift() error {
	return v.emergency(func(node string) (Deed, error) { return v.Lift(v.r.Context(), v.by.By, node) })
}

// emergency does something to a tenant, team or key that there is, and answers with it
// as it is then.
func (v *visit) emergency(do func(node string) (Deed, error)) error {
	show := func() (any, string, error) {
		a, err := v.Book.Show(v.r.Context(), v.ref)
		if err != nil {
			return nil, "", err
		}
		return a, a.Tag, nil
	}
	node := v.ref.Node()
	if id := v.r.PathValue("key"); id != "" {
		node = "key/" + id
		show = func() (any, string, error) {
			k, err := v.Book.ShowKey(v.r.Context(), v.ref.Tenant, id)
			if err != nil {
				return nil, "", err
			}
			return k, k.Tag, nil
		}
	}
	if _, _, err := show(); err != nil {
		return err
	}
	d, err := do(node)
	v.act.Before, v.act.After, v.act.Text = d.Before, d.After, d.Said
	if err != nil {
		return err
	}
	now, tag, err := show()
	if err != nil {
		return err
	}
	return v.tagged(http.StatusOK, tag, now)
}
