package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// Account is a tenant, a team or a key, as far as it may use the quota.
type Account struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant,omitempty"` // of a team
	Note   string `json:"note"`
	Terms
	Enforced  []Enforced `json:"enforced"` // what holds now, wherever it was set
	Teams     []string   `json:"teams,omitempty"`
	Keys      int        `json:"keys"` // that hold
	Stopped   *Stop      `json:"stopped"`
	Created   time.Time  `json:"created,omitzero"` // zero: nobody has made it here, it is in use or configured
	Changed   time.Time  `json:"changed,omitzero"`
	ChangedBy string     `json:"changed_by,omitempty"`

	// Tag is of what may be changed: another one is another state of it.
	Tag string `json:"-"`
}

// Stop is an emergency stop.
type Stop struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Draft is what may be changed of a tenant, team or key.
type Draft struct {
	Note string `json:"note"`
	Terms
}

// Ref names a tenant, a team or a key's limits.
type Ref struct{ Tenant, Team, Key string }

// Node is where its limits are: "tenant/acme", "team/web", "key/k_0a1b…".
func (r Ref) Node() string {
	switch {
	case r.Key != "":
		return "key/" + r.Key
	case r.Team != "":
		return "team/" + r.Team
	}
	return "tenant/" + r.Tenant
}

// Condition is what a change expects to find. The zero value expects nothing: then
// what is there already may not be changed to something else.
type Condition struct {
	Tags   []string // one of these states
	Any    bool     // any state: it must be there
	Absent bool     // nothing
}

// levelPattern is what the gateway takes as a level of a path.
// LongestName is how many bytes the name of a tenant, team or key may have.
const LongestName = 64

var levelPattern = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9._@:+-]{1,%d}$`, LongestName))

func checkName(field, name string) error {
	if !levelPattern.MatchString(name) {
		return wrong(field, "%q: want 1 to 64 letters, digits and . _ @ : + -", cut(name))
	}
	return nil
}

const mostNote = 500

func (d Draft) check() error {
	if len([]rune(d.Note)) > mostNote || strings.ContainsFunc(d.Note, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		return wrongIf(wrong("note", "want at most %d printable characters", mostNote), d.Terms.check())
	}
	return d.Terms.check()
}

// state is what is known of a node at one moment.
type state struct {
	node  string
	rec   record
	set   []limiter.Override // of the node and its weight
	terms Terms              // set, but for an emergency stop
	conf  limiter.Config     // that is enforced
}

// concerns says whether an override is the node's.
func concerns(o limiter.Override, node string) bool {
	return o.Node == node || o.Node == limiter.NodeWeights && o.Name == node
}

func (b *Book) state(ctx context.Context, node string) (s state, err error) {
	s.node = node
	if s.rec, err = b.loadRecord(ctx, node); err != nil {
		return s, err
	}
	all, err := b.Limiter.Overrides(ctx)
	if err != nil {
		return s, err
	}
	for _, o := range all {
		if concerns(o, node) {
			s.set = append(s.set, o)
		}
	}
	s.conf, err = b.Limiter.Effective(ctx)
	s.work()
	return s, err
}

// work finds the terms behind what is set.
func (s *state) work() {
	s.terms = termsOf(s.set, s.node)
	s.rec.endedStop(s.set, s.node)
	s.rec.withoutStop(s.terms)
}

// endedStop forgets a stop whose limit somebody has set to something else since.
func (r *record) endedStop(set []limiter.Override, node string) {
	stops := func(o limiter.Override) bool { return o.Node == node && o.Name == "rpm" && o.Reason == StopReason }
	if !slices.ContainsFunc(set, stops) {
		r.Stop = nil
	}
}

// withoutStop gives terms the limit of requests that a stop took the place of.
func (r record) withoutStop(t Terms) {
	if r.Stop == nil {
		return
	}
	if delete(t.Limits, "rpm"); r.Stop.Set {
		t.Limits["rpm"] = r.Stop.RPM
	}
}

// tag is of all that a change can change.
func (s state) tag() string {
	text, _ := json.Marshal([]any{s.node, s.rec.Rev, s.rec.Note, s.terms}) // plain values always can be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

// still says that nobody has set anything else since.
func (s state) still(set []limiter.Override) error {
	set = slices.DeleteFunc(slices.Clone(set), func(o limiter.Override) bool { return !concerns(o, s.node) })
	if !termsOf(set, s.node).equal(termsOf(s.set, s.node)) {
		return ErrChanged
	}
	return nil
}

func (s state) account(r Ref) *Account {
	a := &Account{Name: r.Tenant, Note: s.rec.Note, Terms: s.terms, Enforced: enforcedAt(s.conf, termsOf(s.set, s.node), s.node), Created: s.rec.Created,
		Changed: s.rec.Changed, ChangedBy: s.rec.By, Tag: s.tag()}
	if r.Team != "" {
		a.Name, a.Tenant = r.Team, r.Tenant
	}
	if x := s.rec.Stop; x != nil {
		a.Stopped = &Stop{x.At, x.By, x.Reason}
	}
	return a
}

// Show gives a tenant or a team. ErrNotThere is one that nobody made, configured, gave
// a key or used today.
func (b *Book) Show(ctx context.Context, r Ref) (*Account, error) {
	s, err := b.state(ctx, r.Node())
	if err != nil {
		return nil, err
	}
	keys, err := b.keysOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if there, err := b.there(ctx, r, s, keys); err != nil || !there {
		return nil, orNotThere(err)
	}
	a := s.account(r)
	for _, k := range keys {
		if k.Revoked.IsZero() {
			a.Keys++
		}
	}
	if r.Team == "" {
		if a.Teams, err = b.teamsOf(ctx, r.Tenant, keys); err != nil {
			return nil, err
		}
	}
	return a, b.addUsed(ctx, a, s.node)
}

func orNotThere(err error) error {
	if err == nil {
		return ErrNotThere
	}
	return err
}

// there says whether anybody knows of it.
func (b *Book) there(ctx context.Context, r Ref, s state, keys []gateway.Identity) (bool, error) {
	if checkName("name", strings.TrimPrefix(s.node, r.kind()+"/")) != nil {
		return false, nil
	}
	_, configured := s.conf.Nodes[s.node]
	switch {
	case s.rec.there():
		return r.Team == "" || s.rec.Tenant == r.Tenant, nil
	case r.Team != "":
		return len(keys) > 0, nil // a team's node alone does not say whose it is
	case configured, len(s.set) > 0, len(keys) > 0:
		return true, nil
	}
	return b.usedToday(ctx, r.Tenant)
}

func (r Ref) kind() string {
	kind, _, _ := strings.Cut(r.Node(), "/")
	return kind
}

// addUsed says what of each limit is used now.
func (b *Book) addUsed(ctx context.Context, a *Account, node string) error {
	if len(a.Enforced) == 0 {
		return nil
	}
	now, err := b.Limiter.NodeState(ctx, node)
	if err != nil {
		return orNil(err, limiter.ErrUnknownNode)
	}
	for i, e := range a.Enforced {
		for _, l := range now.Limits {
			if name, ok := apiName(l.Name); ok && name == e.Name {
				a.Enforced[i].Used = new(l.Used)
			}
		}
	}
	return nil
}

// keysOf are the keys on behalf of a tenant, or of one of its teams.
func (b *Book) keysOf(ctx context.Context, r Ref) ([]gateway.Identity, error) {
	all, err := b.Keys.List(ctx)
	return slices.DeleteFunc(all, func(k gateway.Identity) bool {
		return k.Project != b.Scope.Project || k.Path.Tenant != r.Tenant || r.Team != "" && k.Path.Team != r.Team
	}), err
}

// teamsOf are those that were made, and those that keys are of.
func (b *Book) teamsOf(ctx context.Context, tenant string, keys []gateway.Identity) ([]string, error) {
	all, err := b.records(ctx)
	return teamsIn(all, tenant, keys), err
}

func teamsIn(records map[string]record, tenant string, keys []gateway.Identity) []string {
	out := []string{}
	for node, r := range records {
		if name, ok := strings.CutPrefix(node, "team/"); ok && r.Tenant == tenant {
			out = append(out, name)
		}
	}
	for _, k := range keys {
		if k.Path.Team != "" && k.Revoked.IsZero() {
			out = append(out, k.Path.Team)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
