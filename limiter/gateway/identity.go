package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// Identity is whom a key stands for.
type Identity struct {
	ID      string `json:"id"`                // "k_" and twelve hex digits of the first secret's hash, also after Rotate; safe to show
	Name    string `json:"name"`              // for people
	Project string `json:"project"`           // the provider project that its calls count in
	Class   string `json:"class"`             // the highest class it may use
	Feature string `json:"feature,omitempty"` // of a call that names none; "" makes every call name one
	// Features are the only ones that its calls may name; none means any.
	Features []string     `json:"features,omitempty"`
	Path     limiter.Path `json:"path,omitzero"`     // on whose behalf; Key is the ID when empty
	Adopted  bool         `json:"adopted,omitempty"` // a provider's key of the team's own, known by its hash
	Created  time.Time    `json:"created"`           //
	Expires  time.Time    `json:"expires,omitzero"`  // by the clock of who looks it up; zero: never
	Revoked  time.Time    `json:"revoked,omitzero"`  // zero: it holds
	Rotated  time.Time    `json:"rotated,omitzero"`  // when a newer secret took this one's place, which then holds until Expires; zero for the newest
	// OldUntil is how long the secret before this one still holds; zero: there is
	// none. Only List fills it.
	OldUntil time.Time `json:"old_secret_until,omitzero"`
}

// What Keys say of a key that is not accepted. All but ErrUnknownKey come with
// the identity that the key had.
var (
	ErrUnknownKey = errors.New("no such key")
	ErrRevoked    = errors.New("the key was revoked")
	ErrExpired    = errors.New("the key has expired")
	ErrRotated    = errors.New("the key was rotated, and this secret of it no longer holds")
)

// over says why a secret whose time is over no longer holds.
func (i Identity) over() error {
	if !i.Rotated.IsZero() {
		return ErrRotated
	}
	return ErrExpired
}

// endedByRotation holds for the old secret of a rotation without grace, while the
// key itself holds.
func (i Identity) endedByRotation() bool { return !i.Rotated.IsZero() && i.Revoked.Equal(i.Rotated) }

// revokedAt is when the key of a secret ends, told apart from the rotation's second.
func (i Identity) revokedAt(at time.Time) time.Time {
	if !i.Rotated.IsZero() && !at.After(i.Rotated) {
		return i.Rotated.Add(time.Second)
	}
	return at
}

// IdentityError names the field of an identity that cannot be.
type IdentityError struct{ Field, Why string }

// Error is field and reason.
func (e *IdentityError) Error() string { return e.Field + ": " + e.Why }

// RevokedError says of which key it was wanted that it is revoked. It is an ErrRevoked.
type RevokedError struct{ Known Identity }

// Error says since when.
func (e *RevokedError) Error() string {
	return fmt.Sprintf("key %s (%s) was revoked on %s and stays so", e.Known.ID, e.Known.Name, e.Known.Revoked.UTC().Format(timeText))
}

// Unwrap gives ErrRevoked.
func (e *RevokedError) Unwrap() error { return ErrRevoked }

const timeText = "2006-01-02 15:04:05 UTC"

// TakenError says that a key is already known.
type TakenError struct {
	Known   Identity
	Project string // the project that it was to be added to
}

// Error says where the key is known, and what follows from that.
func (e *TakenError) Error() string {
	switch {
	case !e.Known.Rotated.IsZero():
		return fmt.Sprintf("the key is an old secret of %s (%s), rotated on %s: a newer one stands for it",
			e.Known.ID, e.Known.Name, e.Known.Rotated.UTC().Format(timeText))
	case !e.Known.Revoked.IsZero():
		return fmt.Sprintf("the key was %s (%s), revoked on %s, and stays so: adopt another key of the team's, or make one with `nightshift keys add`",
			e.Known.ID, e.Known.Name, e.Known.Revoked.UTC().Format(timeText))
	case e.Known.Project == e.Project:
		return fmt.Sprintf("the key is known already as %s (%s)", e.Known.ID, e.Known.Name)
	}
	return fmt.Sprintf("the key is known already as %s (%s) of project %q: a key belongs to one project, since quota is counted by project and not by key",
		e.Known.ID, e.Known.Name, e.Known.Project)
}

var (
	featurePattern = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)
	classPattern   = featurePattern
	levelPattern   = regexp.MustCompile(`^[A-Za-z0-9._@:+-]{0,64}$`)
)

// check names the first field that cannot be.
func (i Identity) check(now time.Time) error {
	switch {
	case strings.TrimSpace(i.Name) == "" || len(i.Name) > 64 || strings.ContainsFunc(i.Name, unprintable):
		return &IdentityError{"name", "want 1 to 64 printable characters"}
	case i.Project == "" || strings.Contains(i.Project, "/"):
		return &IdentityError{"project", "want the provider project's name in the configuration"}
	case !classPattern.MatchString(i.Class):
		return &IdentityError{"class", fmt.Sprintf("%q is no class name", i.Class)}
	case i.Feature != "" && !featurePattern.MatchString(i.Feature):
		return &IdentityError{"feature", fmt.Sprintf("%q: want 1 to 64 of a-z, 0-9, dot, dash and underscore", i.Feature)}
	case !i.Expires.IsZero() && !i.Expires.After(now):
		return &IdentityError{"expires", i.Expires.UTC().Format(time.RFC3339) + " is in the past"}
	}
	if err := i.checkFeatures(); err != nil {
		return err
	}
	return checkPath(i.Path)
}

// mostFeatures bounds what a key may list: more is a key without restriction.
const mostFeatures = 32

func (i Identity) checkFeatures() error {
	if len(i.Features) > mostFeatures {
		return &IdentityError{"features", fmt.Sprintf("%d are too many: want at most %d, or none for any", len(i.Features), mostFeatures)}
	}
	for n, f := range i.Features {
		switch {
		case !featurePattern.MatchString(f):
			return &IdentityError{"features", fmt.Sprintf("%q: want 1 to 64 of a-z, 0-9, dot, dash and underscore", f)}
		case slices.Contains(i.Features[:n], f):
			return &IdentityError{"features", fmt.Sprintf("%s is there twice", f)}
		}
	}
	if i.Feature != "" && !i.May(i.Feature) {
		return &IdentityError{"feature", fmt.Sprintf("%s is not among the features that the key may name (%s)", i.Feature, strings.Join(i.Features, ", "))}
	}
	return nil
}

// May says whether the key's calls may be for a feature.
func (i Identity) May(feature string) bool {
	return len(i.Features) == 0 || slices.Contains(i.Features, feature)
}

// feature is that of a call which asks for one or, with "", for none: the
// default, or the only one that the key may name.
func (i Identity) feature(asked string) string {
	if asked == "" && i.Feature == "" && len(i.Features) == 1 {
		return i.Features[0]
	}
	return cmp.Or(asked, i.Feature)
}

func checkPath(p limiter.Path) error {
	for _, level := range []struct{ name, value string }{
		{"organization", p.Organization}, {"tenant", p.Tenant}, {"team", p.Team}, {"key", p.Key}, {"run", p.Run}, {"priority", string(p.Priority)},
	} {
		if !levelPattern.MatchString(level.value) {
			return &IdentityError{"path." + level.name, fmt.Sprintf("%q: want letters, digits and . _ @ : + -", level.value)}
		}
	}
	return nil
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }

// keyHash is how a key is kept. Keys are random and long, so a plain hash
// gives nothing away; the prefix keeps it from matching any other list of hashes.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte("nightshift gateway key v1\x00" + key))
	return hex.EncodeToString(sum[:])
}

var idPattern = regexp.MustCompile(`^k_[0-9a-f]{12}$`)

func idOf(hash string) string { return "k_" + hash[:12] }
