package tenants

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
)

// whole is all that is known of all tenants at one moment. It is not changed.
type whole struct {
	at      time.Time
	records map[string]record
	keys    map[string][]gateway.Identity // by tenant, the oldest first
	set     map[string][]limiter.Override // by node, its weight too
	conf    limiter.Config
	today   map[string]gemini.UseCounts
	all     []Summary // by name
}

// look reads it.
func (b *Book) look(ctx context.Context) (w *whole, err error) {
	w = &whole{at: b.now(), keys: map[string][]gateway.Identity{}, set: map[string][]limiter.Override{}}
	if w.records, err = b.records(ctx); err != nil {
		return nil, err
	}
	keys, err := b.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.Project == b.Scope.Project && k.Path.Tenant != "" {
			w.keys[k.Path.Tenant] = append(w.keys[k.Path.Tenant], k)
		}
	}
	set, err := b.Limiter.Overrides(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range set {
		node := o.Node
		if node == limiter.NodeWeights {
			node = o.Name
		}
		w.set[node] = append(w.set[node], o)
	}
	if w.conf, err = b.Limiter.Effective(ctx); err != nil {
		return nil, err
	}
	if w.today, err = b.today(ctx); err != nil {
		return nil, err
	}
	w.all = w.summaries()
	return w, nil
}

// state is what is known of a node.
func (w *whole) state(node string) state {
	s := state{node: node, rec: w.records[node], set: w.set[node], conf: w.conf}
	s.work()
	return s
}

// View is a tenant with all that is its own.
type View struct {
	*Account
	Teams []*Account
	Keys  []Key          // the oldest first
	Lanes []limiter.Lane // all of the project, as they were then
}

// View gives a tenant as it was a moment ago, for pages: it takes as long with
// thousands of tenants as with ten. Nothing is said of what is used now.
func (b *Book) View(ctx context.Context, tenant string) (*View, error) {
	w, err := b.seenLately(ctx)
	if err != nil {
		return nil, err
	}
	is := func(s Summary) bool { return s.Name == tenant }
	if !slices.ContainsFunc(w.all, is) {
		return nil, ErrNotThere
	}
	v := &View{Account: w.state("tenant/" + tenant).account(Ref{Tenant: tenant}), Keys: b.keysIn(w, tenant)}
	for _, l := range w.conf.Lanes {
		v.Lanes = append(v.Lanes, l.Lane)
	}
	names := teamsIn(w.records, tenant, w.keys[tenant])
	for _, name := range names {
		v.Teams = append(v.Teams, b.teamIn(w, Ref{Tenant: tenant, Team: name}))
	}
	return v, nil
}

// Teams gives all teams of a tenant, by name.
func (b *Book) Teams(ctx context.Context, tenant string) ([]*Account, error) {
	if _, err := b.Show(ctx, Ref{Tenant: tenant}); err != nil {
		return nil, err
	}
	w, err := b.seenNow(ctx)
	if err != nil {
		return nil, err
	}
	out := []*Account{}
	for _, name := range teamsIn(w.records, tenant, w.keys[tenant]) {
		out = append(out, b.teamIn(w, Ref{Tenant: tenant, Team: name}))
	}
	return out, nil
}

func (b *Book) teamIn(w *whole, r Ref) *Account {
	a := w.state(r.Node()).account(r)
	for _, k := range w.keys[r.Tenant] {
		if k.Path.Team == r.Team && k.Revoked.IsZero() {
			a.Keys++
		}
	}
	return a
}

// ListKeys gives those of a tenant, revoked ones too, the oldest first.
func (b *Book) ListKeys(ctx context.Context, tenant string) ([]Key, error) {
	w, err := b.seenNow(ctx)
	if err != nil {
		return nil, err
	}
	return b.keysIn(w, tenant), nil
}

func (b *Book) keysIn(w *whole, tenant string) []Key {
	out := []Key{}
	for _, i := range w.keys[tenant] {
		out = append(out, b.key(i, w.state(nodeOf(i))))
	}
	return out
}

// How long a look serves those who ask: freshFor whoever wants it as it is, seenFor
// pages where nobody keeps one; keepEvery is how often one who does looks.
const (
	freshFor  = 50 * time.Millisecond
	seenFor   = 2 * time.Second
	keepEvery = 5 * time.Second
)

// Keep looks at all tenants every few seconds until the context ends, so that no page
// waits for thousands of them: what List and View give is some seconds old then.
func (b *Book) Keep(ctx context.Context) { b.seen.Keep(ctx, keepEvery, b.now, b.look) }

// seenNow is a look as it is, seenLately one for pages.
func (b *Book) seenNow(ctx context.Context) (*whole, error) {
	return b.seen.Get(ctx, b.now(), freshFor, b.look)
}

func (b *Book) seenLately(ctx context.Context) (*whole, error) {
	return b.seen.Seen(ctx, b.now(), seenFor, b.look)
}

// Forget is told that somebody has changed limits or keys past the book: what pages show
// is read anew.
func (b *Book) Forget() { b.seen.Forget() }

// usedToday says whether a tenant has used anything in the day of money.
func (b *Book) usedToday(ctx context.Context, tenant string) (bool, error) {
	today, err := b.today(ctx)
	_, used := today[tenant]
	return used && tenant != "", err
}

func (b *Book) today(ctx context.Context) (map[string]gemini.UseCounts, error) {
	return gemini.ReadUseTotals(ctx, b.Redis, b.Scope, b.now(), b.zone())
}
