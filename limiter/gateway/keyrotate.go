package gateway

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Rotation says how an identity gets another secret. The zero value makes one
// and ends the one of before at once.
type Rotation struct {
	Grace   time.Duration // how long the secret of before still holds
	Adopt   string        // a key that is there already, to be the new secret; "": one is made
	Expires time.Time     // of the identity from now on; zero: as before
}

// Rotate gives the identity of a key, named as for Revoke, another secret. ID
// and path stay, and with them limits and counts. The secret is given here and
// never again; it is "" where one was adopted. ErrUnknownKey, ErrRevoked and
// ErrExpired say of the identity why it cannot have another; a secret that is
// known already is a *TakenError, a field that cannot be an *IdentityError.
func (k *Keys) Rotate(ctx context.Context, id string, r Rotation) (secret string, now Identity, err error) {
	key := r.Adopt
	if r.Adopt == "" {
		secret = newSecret()
		key = secret
	} else if err := adoptable(r.Adopt); err != nil {
		return "", now, err
	}
	err = k.change(ctx, func(all map[string]Identity) (map[string]string, error) {
		old, i, err := pick(all, id)
		if err != nil {
			return nil, err
		}
		if known, ok := all[keyHash(key)]; ok {
			return nil, &TakenError{Known: known, Project: i.Project}
		}
		now, err = k.rotated(i, r)
		if err != nil {
			return nil, err
		}
		return k.rotation(old, i, keyHash(key), now, r.Grace), nil
	})
	if err != nil {
		return "", now, err
	}
	k.cache.clear()
	return secret, now, nil
}

// rotated is the identity as its new secret has it.
func (k *Keys) rotated(i Identity, r Rotation) (Identity, error) {
	at := k.now().UTC().Truncate(time.Second)
	if !i.Revoked.IsZero() {
		return i, &RevokedError{i}
	}
	if !r.Expires.IsZero() {
		i.Expires = r.Expires
	}
	if !i.Expires.IsZero() && !k.now().Before(i.Expires) {
		return i, fmt.Errorf("keys: %s: %w", i.ID, ErrExpired)
	}
	i.Created, i.Adopted = at, r.Adopt != ""
	return i, i.check(k.now())
}

// rotation is what is stored: the new secret, and when the old one ends.
func (k *Keys) rotation(old string, was Identity, fresh string, now Identity, grace time.Duration) map[string]string {
	at := k.now().UTC()
	until := at.Add(grace)
	was.Rotated = at.Truncate(time.Second)
	if was.Expires.IsZero() || was.Expires.After(until) {
		was.Expires = until
	}
	fields := map[string]string{fresh: jsonOf(now), old: jsonOf(was)}
	if grace <= 0 { // whatever the clocks of the gateways say
		fields[old+revokedField] = was.Rotated.Format(time.RFC3339)
	}
	return fields
}

// assigned is a line of a shell or of an .env file; = at a key's own end is none.
var assigned = regexp.MustCompile(`^\s*(export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=+[^=]`)

// adoptable says why a key that is there already cannot be taken over. It
// never has the key in it.
func adoptable(key string) error {
	switch {
	case len(key) < leastKey || len(key) > 512:
		return &IdentityError{"key", fmt.Sprintf("want %d to 512 characters, it has %d", leastKey, len(key))}
	case strings.ContainsAny(key, "\"'`"):
		return &IdentityError{"key", "it has quotes: give what stands between them"}
	case assigned.MatchString(key):
		return &IdentityError{"key", "it begins with a variable's name: give what stands after the ="}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return &IdentityError{"key", "it holds a space, a line break or a character that no header can carry"}
	case strings.HasPrefix(key, SecretPrefix):
		return &IdentityError{"key", "keys that begin with " + SecretPrefix + " are made by `keys add`"}
	}
	return nil
}
