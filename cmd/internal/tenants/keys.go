package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// Key is a key of a tenant, never with its secret.
type Key struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Team     string    `json:"team,omitempty"`
	Class    string    `json:"class"`
	Feature  string    `json:"feature,omitempty"`
	Features []string  `json:"features,omitempty"`
	Adopted  bool      `json:"adopted,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	Revoked  time.Time `json:"revoked,omitzero"`
	OldUntil time.Time `json:"old_secret_until,omitzero"` // how long the secret before this one still holds
	State    string    `json:"state"`                     // active, expired, revoked
	Terms
	Enforced []Enforced `json:"enforced"`
	Stopped  *Stop      `json:"stopped"`
	Tag      string     `json:"-"` // as of Account
}

// KeyDraft is a key to be made.
type KeyDraft struct {
	Name     string    `json:"name"`
	Team     string    `json:"team"`
	Class    string    `json:"class"` // default the highest
	Feature  string    `json:"feature"`
	Features []string  `json:"features"`
	Expires  time.Time `json:"expires"` // zero: never
	Limits   Limits    `json:"limits"`
}

func nodeOf(i gateway.Identity) string {
	if i.Path.Key != "" {
		return "key/" + i.Path.Key
	}
	return "key/" + i.ID
}

func (b *Book) key(i gateway.Identity, s state) Key {
	k := Key{
		ID: i.ID, Name: i.Name, Team: i.Path.Team, Class: i.Class, Feature: i.Feature, Features: i.Features, Adopted: i.Adopted, Created: i.Created, Expires: i.Expires,
		Revoked: i.Revoked, OldUntil: i.OldUntil, State: "active", Terms: s.terms, Enforced: enforcedAt(s.conf, termsOf(s.set, s.node), s.node), Tag: s.tag(),
	}
	switch {
	case !i.Revoked.IsZero():
		k.State = "revoked"
	case !i.Expires.IsZero() && !i.Expires.After(b.now()):
		k.State = "expired"
	}
	if x := s.rec.Stop; x != nil {
		k.Stopped = &Stop{x.At, x.By, x.Reason}
	}
	return k
}

// identity gives a tenant's key by its id. ErrNotThere is a key of another's too.
func (b *Book) identity(ctx context.Context, tenant, id string) (gateway.Identity, error) {
	all, err := b.keysOf(ctx, Ref{Tenant: tenant})
	if err != nil {
		return gateway.Identity{}, err
	}
	i := slices.IndexFunc(all, func(k gateway.Identity) bool { return k.ID == id })
	if i < 0 {
		return gateway.Identity{}, ErrNotThere
	}
	return all[i], nil
}

// ShowKey gives one key of a tenant.
func (b *Book) ShowKey(ctx context.Context, tenant, id string) (*Key, error) {
	i, err := b.identity(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	s, err := b.state(ctx, nodeOf(i))
	if err != nil {
		return nil, err
	}
	k := b.key(i, s)
	return &k, nil
}

// AddKey makes a key of a tenant with limits of its own: both, or neither. The secret
// is given here and never again.
func (b *Book) AddKey(ctx context.Context, by, tenant string, d KeyDraft) (secret string, k *Key, err error) {
	i, err := b.draft(ctx, tenant, d)
	if err != nil {
		return "", nil, err
	}
	id := ""
	err = b.MakeKey(ctx, by, (Terms{}).change("key/", Terms{Limits: d.Limits}, by).Set, func() (string, error) {
		secret, id, err = b.Keys.Add(ctx, i)
		return id, err
	})
	if err != nil {
		return "", nil, ofLimiter(ofKeys(err))
	}
	b.seen.Forget()
	b.note(ctx, by, d.Name, fmt.Sprintf("key %s (%s) of tenant %s for class %s", d.Name, id, tenant, i.Class))
	k, err = b.ShowKey(ctx, tenant, id)
	return secret, k, err
}

// draft is whom the key stands for.
func (b *Book) draft(ctx context.Context, tenant string, d KeyDraft) (i gateway.Identity, err error) {
	i = gateway.Identity{Name: d.Name, Project: b.Scope.Project, Class: d.Class, Feature: d.Feature, Features: d.Features, Expires: d.Expires}
	i.Path.Tenant, i.Path.Team = tenant, d.Team
	if i.Class == "" && len(b.Classes) > 0 {
		i.Class = b.Classes[0]
	}
	if err := b.checkKey(d, i.Class); err != nil {
		return i, err
	}
	if d.Team != "" {
		if err := b.mayPutTeam(ctx, Ref{Tenant: tenant, Team: d.Team}); err != nil {
			return i, err
		}
	}
	if _, err := b.Show(ctx, Ref{Tenant: tenant}); err != nil {
		return i, err
	}
	return i, nil
}

// checkKey finds all that no key can have.
func (b *Book) checkKey(d KeyDraft, class string) error {
	bad := []error{(Terms{Limits: d.Limits}).check()}
	if strings.TrimSpace(d.Name) == "" {
		bad = append(bad, wrong("name", "want 1 to 64 printable characters"))
	}
	if len(b.Classes) > 0 && !slices.Contains(b.Classes, class) {
		bad = append(bad, wrong("class", "%q is not configured; want one of %s", cut(class), strings.Join(b.Classes, ", ")))
	}
	if len(b.Features) > 0 {
		for n, f := range append([]string{d.Feature}, d.Features...) {
			if f != "" && !slices.Contains(b.Features, f) {
				bad = append(bad, wrong([]string{"feature", "features"}[min(n, 1)], "there is no feature %q (known: %s)", cut(f), strings.Join(b.Features, ", ")))
			}
		}
	}
	if d.Team != "" {
		bad = append(bad, checkName("team", d.Team))
	}
	return wrongIf(bad...)
}

func (b *Book) mayPutTeam(ctx context.Context, r Ref) error {
	s, err := b.state(ctx, r.Node())
	if err != nil {
		return err
	}
	return b.mayPut(ctx, r, s)
}

// MakeKey makes a key by a function, which gives its id, and gives it limits, whose
// node is filled in: both, or neither. A key whose limits cannot be set is revoked again:
// without them it would be worth more than was meant. What is wrong with a limit is a
// *limiter.ConfigError.
func (b *Book) MakeKey(ctx context.Context, by string, limits []limiter.Override, make func() (id string, err error)) error {
	if len(limits) == 0 {
		_, err := make()
		return err
	}
	if err := b.ready(ctx); err != nil {
		return err
	}
	if _, _, err := b.Limiter.Try(ctx, limitsAt("key/k_new", limits, by)); err != nil {
		return err
	}
	id, err := make()
	if err != nil {
		return err
	}
	why := b.Limiter.Override(ctx, limitsAt("key/"+id, limits, by))
	if why == nil {
		return nil
	}
	if _, err := b.Keys.Revoke(context.WithoutCancel(ctx), id); err != nil {
		return fmt.Errorf("the key's limits could not be set (%w), and it could not be revoked (%w): run `nightshift keys revoke %s`", why, err, id)
	}
	return fmt.Errorf("the key's limits could not be set, so it was revoked again: %w", why)
}

func limitsAt(node string, limits []limiter.Override, by string) limiter.Change {
	ch := limiter.Change{By: by, Set: slices.Clone(limits)}
	for i := range ch.Set {
		ch.Set[i].Node = node
	}
	return ch
}

// PutKey changes the limits and the weight of a tenant's key, as Put does a team's.
func (b *Book) PutKey(ctx context.Context, by, tenant, id string, t Terms, cond Condition) (*Key, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	i, err := b.identity(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if !i.Revoked.IsZero() {
		return nil, conflict("the key was revoked and stays so")
	}
	s, err := b.state(ctx, nodeOf(i))
	if err != nil {
		return nil, err
	}
	done := s.terms.equal(t)
	if len(cond.Tags) == 0 && !cond.Any && !done {
		return nil, ErrUnread
	}
	if err := s.met(cond, done); err != nil {
		return nil, err
	}
	if !done {
		if err := b.apply(ctx, by, Ref{Tenant: tenant, Key: strings.TrimPrefix(s.node, "key/")}, s, Draft{Terms: t}); err != nil {
			return nil, err
		}
	}
	return b.ShowKey(ctx, tenant, id)
}

// mostGrace is how long an old secret may hold beside the new one.
const mostGrace = 90 * 24 * time.Hour

// RotateKey gives a tenant's key another secret, which is given here and never again. The
// one before holds for the grace time.
func (b *Book) RotateKey(ctx context.Context, by, tenant, id string, grace time.Duration, expires time.Time) (secret string, k *Key, err error) {
	if grace < 0 || grace > mostGrace {
		return "", nil, wrong("grace_seconds", "want 0 to %d (90 days)", int(mostGrace.Seconds()))
	}
	if _, err := b.identity(ctx, tenant, id); err != nil {
		return "", nil, err
	}
	secret, i, err := b.Keys.Rotate(ctx, id, gateway.Rotation{Grace: grace, Expires: expires})
	if err != nil {
		return "", nil, ofKeys(err)
	}
	b.seen.Forget()
	b.note(ctx, by, i.Name, fmt.Sprintf("key %s (%s) has another secret; the one of before holds for %s", i.Name, i.ID, grace))
	k, err = b.ShowKey(ctx, tenant, id)
	return secret, k, err
}

// RevokeKey ends a tenant's key with all its secrets, and its limits. Revoking again
// changes nothing.
func (b *Book) RevokeKey(ctx context.Context, by, tenant, id string) (*Key, error) {
	i, err := b.identity(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if _, err := b.Keys.Revoke(ctx, id); err != nil {
		return nil, ofKeys(err)
	}
	err = b.Limiter.Override(ctx, limiter.Change{Unset: []limiter.Override{{Node: nodeOf(i)}}, By: by})
	if err != nil && !errors.Is(err, limiter.ErrNoOverride) {
		return nil, err
	}
	b.seen.Forget()
	if i.Revoked.IsZero() {
		b.note(ctx, by, i.Name, "key "+i.Name+" ("+i.ID+") is revoked")
	}
	return b.ShowKey(ctx, tenant, id)
}

// note is an event; one that is lost keeps nothing from being done.
func (b *Book) note(ctx context.Context, by, name, text string) {
	_ = b.Limiter.Note(ctx, limiter.Event{Kind: limiter.EventKeys, Subject: name, Text: text, By: by})
}
