package tenants

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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
	seen := b.seenLately
	if q.Fresh {
		seen = b.seenNow
	}
	w, err := seen(ctx)
	if err != nil {
		return p, err
	}
	all := w.all
	text := strings.ToLower(q.Text)
	found := make([]Summary, 0, len(all))
	for _, s := range all {
		if strings.Contains(s.words, text) && (q.Only == "" || q.Only == s.Name) {
			found = append(found, s)
		}
	}
	p = Page{At: w.at, Found: len(found), All: len(all)}
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

// summaries are all tenants of a look, by name.
func (w *whole) summaries() []Summary {
	g := gathered{of: map[string]*Summary{}, teams: map[[2]string]bool{}}
	for node, r := range w.records {
		g.record(node, r)
	}
	for node := range w.conf.Nodes {
		g.node(node)
	}
	for tenant, keys := range w.keys {
		for _, k := range keys {
			g.key(tenant, k.Path.Team, k.Revoked.IsZero())
		}
	}
	for name, c := range w.today {
		g.get(name).Today = c
	}
	return g.list(w)
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
		s.Note = r.Note
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

func (g gathered) list(w *whole) []Summary {
	out := make([]Summary, 0, len(g.of))
	for _, s := range g.of {
		at := w.state("tenant/" + s.Name)
		s.Enforced, s.Stopped = enforcedAt(at.conf, termsOf(at.set, at.node), at.node), at.rec.Stop != nil
		s.words = strings.ToLower(s.Name + " " + s.Note)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Nodes are the tenants and teams that somebody made, configured, gave a key or that used
// something today: "tenant/acme", "team/web".
func (b *Book) Nodes(ctx context.Context) (out []string, err error) {
	w, err := b.seenNow(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range w.all {
		out = append(out, "tenant/"+s.Name)
	}
	for node := range w.records {
		if strings.HasPrefix(node, "team/") {
			out = append(out, node)
		}
	}
	return out, nil
}
