package tenants

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// Summary is a tenant in a list.
type Summary struct {
	Name     string           `json:"name"`
	Note     string           `json:"note"`
	Teams    int              `json:"teams"`
	Keys     int              `json:"keys"`     // that hold
	Enforced []Enforced       `json:"enforced"` // the limits that hold now
	Stopped  bool             `json:"stopped"`
	Today    gemini.UseCounts `json:"today"` // of the day of money

	words string // to be looked for, in small letters
}

// Cap is the tenant's daily cap in micro-dollars; 0 is none.
func (s Summary) Cap() int64 {
	for _, e := range s.Enforced {
		if e.Name == "micro_usd_per_day" {
			return e.Amount
		}
	}
	return 0
}

// The orders of a list.
const (
	ByName  = "name"
	BySpend = "spend" // of today, the most first
)

// ListQuery asks for a part of the tenants.
type ListQuery struct {
	Text        string // that a name or a note must contain
	Sort        string // ByName (default), BySpend
	After       string // begins behind this name, in the order of names
	Skip, Limit int    // Limit 0 is 50
	Fresh       bool   // as it is now; else a moment ago may do
	Only        string // this one alone
}

// Page is a part of a list.
type Page struct {
	At         time.Time // of the figures
	Tenants    []Summary
	Found, All int
	More       bool // behind these
}

// List gives a part of all tenants that somebody made, configured, gave a key or used
// today.
func (b *Book) List(ctx context.Context, q ListQuery) (p Page, err error) {
	all, at, err := b.names.get(ctx, b.now(), q.Fresh, b.look)
	if err != nil {
		return p, err
	}
	text := strings.ToLower(q.Text)
	found := make([]Summary, 0, len(all))
	for _, s := range all {
		if strings.Contains(s.words, text) && (q.Only == "" || q.Only == s.Name) {
			found = append(found, s)
		}
	}
	p = Page{At: at, Found: len(found), All: len(all)}
	if q.Sort == BySpend {
		slices.SortStableFunc(found, func(a, b Summary) int {
			return cmp.Or(cmp.Compare(b.Today.MicroUSD, a.Today.MicroUSD), cmp.Compare(b.Today.Calls, a.Today.Calls))
		})
	}
	if q.After != "" {
		i, is := slices.BinarySearchFunc(found, q.After, func(s Summary, after string) int { return strings.Compare(s.Name, after) })
		if is {
			i++
		}
		found = found[i:]
	}
	found = found[min(max(q.Skip, 0), len(found)):]
	n := min(cmp.Or(q.Limit, 50), len(found))
	p.Tenants, p.More = found[:n], n < len(found)
	return p, nil
}

// look reads all that is known of all tenants, by name.
func (b *Book) look(ctx context.Context) ([]Summary, error) {
	records, err := b.records(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := b.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	set, err := b.Limiter.Overrides(ctx)
	if err != nil {
		return nil, err
	}
	conf, err := b.Limiter.Effective(ctx)
	if err != nil {
		return nil, err
	}
	today, err := b.today(ctx)
	if err != nil {
		return nil, err
	}
	g := gathered{of: map[string]*Summary{}, teams: map[[2]string]bool{}}
	for node, r := range records {
		g.record(node, r)
	}
	for node := range conf.Nodes {
		g.node(node)
	}
	for _, k := range keys {
		if k.Project == b.Scope.Project && k.Path.Tenant != "" {
			g.key(k.Path.Tenant, k.Path.Team, k.Revoked.IsZero())
		}
	}
	for name, c := range today {
		g.get(name).Today = c
	}
	return g.list(conf, set), nil
}

// gathered are tenants as they are found.
type gathered struct {
	of    map[string]*Summary
	teams map[[2]string]bool
}

func (g gathered) get(name string) *Summary {
	s := g.of[name]
	if s == nil {
		s = &Summary{Name: name}
		g.of[name] = s
	}
	return s
}

func (g gathered) record(node string, r record) {
	if name, ok := strings.CutPrefix(node, "tenant/"); ok {
		s := g.get(name)
		s.Note, s.Stopped = r.Note, r.Stop != nil
	}
	if name, ok := strings.CutPrefix(node, "team/"); ok && r.Tenant != "" {
		g.team(r.Tenant, name)
	}
}

func (g gathered) node(node string) {
	if name, ok := strings.CutPrefix(node, "tenant/"); ok && name != "*" {
		g.get(name)
	}
}

func (g gathered) team(tenant, team string) {
	if at := [2]string{tenant, team}; !g.teams[at] {
		g.teams[at] = true
		g.get(tenant).Teams++
	}
}

func (g gathered) key(tenant, team string, holds bool) {
	s := g.get(tenant)
	if holds {
		s.Keys++
	}
	if holds && team != "" {
		g.team(tenant, team)
	}
}

func (g gathered) list(conf limiter.Config, set []limiter.Override) []Summary {
	terms, stops := map[string]Terms{}, map[string]bool{}
	for _, o := range set {
		if name, ok := apiName(o.Name); ok && strings.HasPrefix(o.Node, "tenant/") {
			if terms[o.Node].Limits == nil {
				terms[o.Node] = Terms{Limits: Limits{}}
			}
			terms[o.Node].Limits[name] = amountOf(o)
			stops[o.Node] = stops[o.Node] || o.Name == "rpm" && o.Reason == StopReason
		}
	}
	out := make([]Summary, 0, len(g.of))
	for _, s := range g.of {
		node := "tenant/" + s.Name
		s.Enforced = enforcedAt(conf, terms[node], node)
		s.Stopped = s.Stopped && stops[node]
		s.words = strings.ToLower(s.Name + " " + s.Note)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// How long a look at all tenants serves those who ask: freshFor whoever changes them,
// staleFor pages, of which one looks anew beside them after seenFor.
const (
	freshFor = 100 * time.Millisecond
	seenFor  = 3 * time.Second
	staleFor = time.Minute
	lookTime = 20 * time.Second
)

// directory keeps the last look, so that a page of twenty tenants does not wait for
// thousands. The zero value works.
type directory struct {
	mu      sync.Mutex
	all     []Summary // as they were at; guarded by mu
	at      time.Time // guarded by mu
	known   bool      // guarded by mu
	looking bool      // somebody does, beside those who ask; guarded by mu
	changes int       // guarded by mu
}

func (d *directory) get(ctx context.Context, now time.Time, fresh bool, look func(context.Context) ([]Summary, error)) ([]Summary, time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	age := now.Sub(d.at).Abs()
	switch {
	case d.known && (age < freshFor || !fresh && age < seenFor):
		return d.all, d.at, nil
	case d.known && !fresh && age < staleFor:
		if !d.looking {
			d.looking = true
			go d.anew(context.WithoutCancel(ctx), now, d.changes, look)
		}
		return d.all, d.at, nil
	}
	all, err := look(ctx)
	if err != nil {
		return nil, now, err
	}
	d.all, d.at, d.known = all, now, true
	return all, now, nil
}

// anew looks beside those who ask, who go on with what is known.
func (d *directory) anew(ctx context.Context, now time.Time, changes int, look func(context.Context) ([]Summary, error)) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, err := look(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking = false
	if err == nil && changes == d.changes {
		d.all, d.at, d.known = all, now, true
	}
}

// forget makes the next one look anew.
func (d *directory) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = false
	d.changes++
}

// usedToday says whether a tenant has used anything in the day of money.
func (b *Book) usedToday(ctx context.Context, tenant string) (bool, error) {
	if tenant == "" {
		return false, nil
	}
	today, err := b.today(ctx)
	_, used := today[tenant]
	return used, err
}

func (b *Book) today(ctx context.Context) (map[string]gemini.UseCounts, error) {
	return gemini.ReadUseTotals(ctx, b.Redis, b.Scope, b.now(), b.zone())
}
