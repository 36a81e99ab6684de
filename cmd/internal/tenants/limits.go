package tenants

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"nightshift/limiter"
)

// limitNames are the limits by their names here, which say their unit, in the order of
// the limiter's shorthands.
var limitNames = []struct{ name, shorthand string }{
	{"rpm", "rpm"}, {"input_tpm", "input_tpm"}, {"output_tpm", "output_tpm"}, {"total_tpm", "total_tpm"}, {"ipm", "ipm"}, {"rpd", "rpd"}, {"tpd", "tpd"},
	{"burst", "concurrency"}, {"streams", "streams"},
	{"micro_usd_per_10m", "usd_per_10m"}, {"micro_usd_per_day", "usd_per_day"}, {"micro_usd_per_month", "usd_per_month"},
}

// LimitNames are the limits that tenants, teams and keys may have: requests and tokens
// a minute (rpm, input_tpm, output_tpm, total_tpm, ipm) and a Pacific day (rpd, tpd), calls
// at once (burst) and open streams, and money in micro-dollars.
func LimitNames() (out []string) {
	for _, x := range limitNames {
		out = append(out, x.name)
	}
	return out
}

// Shorthand is what the limiter calls a limit: "concurrency" for "burst".
func Shorthand(name string) (string, bool) {
	for _, x := range limitNames {
		if x.name == name {
			return x.shorthand, true
		}
	}
	return "", false
}

func apiName(shorthand string) (string, bool) {
	for _, x := range limitNames {
		if x.shorthand == shorthand {
			return x.name, true
		}
	}
	return "", false
}

// Limits are what is set over the configuration, by name. Nil is no limit although the
// configuration has one.
type Limits map[string]*int64

// UnmarshalJSON names the limit that is no whole number.
func (l *Limits) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return wrong("limits", "want an object, as in {\"rpm\": 300}")
	}
	*l = Limits{}
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var n *int64
		if err := json.Unmarshal(all[name], &n); err != nil {
			bad = append(bad, wrong("limits."+cut(name), "%s: want a whole number, or null for no limit", cut(string(all[name]))))
			continue
		}
		(*l)[name] = n
	}
	return wrongIf(bad...)
}

// Terms are what somebody may have of the quota, as far as that is set over the
// configuration.
type Terms struct {
	Weight *int64 `json:"weight"` // among those who wait, 1 to 1,000; nil is what is configured, mostly 1
	Limits Limits `json:"limits"`
}

// check finds all that no limiter would take.
func (t Terms) check() error {
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(t.Limits)) {
		n := t.Limits[name]
		if _, ok := Shorthand(name); !ok {
			bad = append(bad, wrong("limits."+cut(name), "unknown; want %s", strings.Join(LimitNames(), ", ")))
		} else if n != nil && (*n < 1 || *n > mostAmount) {
			bad = append(bad, wrong("limits."+name, "%d; want 1 to %d, or null for no limit. To let nothing through, stop it", *n, int64(mostAmount)))
		}
	}
	if w := t.Weight; w != nil && (*w < 1 || *w > 1000) {
		bad = append(bad, wrong("weight", "%d; want 1 to 1000, or null for what is configured", *w))
	}
	return wrongIf(bad...)
}

const mostAmount = 1_000_000_000_000_000

// termsOf reads what is set of a node.
func termsOf(set []limiter.Override, node string) Terms {
	t := Terms{Limits: Limits{}}
	for _, o := range set {
		switch {
		case o.Node == limiter.NodeWeights && o.Name == node:
			t.Weight = new(o.Value)
		case o.Node == node:
			if name, ok := apiName(o.Name); ok {
				t.Limits[name] = amountOf(o)
			}
		}
	}
	return t
}

func amountOf(o limiter.Override) *int64 {
	if o.Text == limiter.None {
		return nil
	}
	return new(o.Value)
}

// change is what makes one the other at a node.
func (t Terms) change(node string, to Terms, by string) limiter.Change {
	ch := limiter.Change{By: by}
	for _, x := range limitNames {
		was, had := t.Limits[x.name]
		n, has := to.Limits[x.name]
		o := limiter.Override{Node: node, Name: x.shorthand}
		switch {
		case has && had && same(was, n), !has && !had:
		case !has:
			ch.Unset = append(ch.Unset, o)
		default:
			if o.Text = limiter.None; n != nil {
				o.Text, o.Value = "", *n
			}
			ch.Set = append(ch.Set, o)
		}
	}
	o := limiter.Override{Node: limiter.NodeWeights, Name: node}
	switch {
	case same(t.Weight, to.Weight):
	case to.Weight == nil:
		ch.Unset = append(ch.Unset, o)
	default:
		o.Value = *to.Weight
		ch.Set = append(ch.Set, o)
	}
	return ch
}

func same(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func (t Terms) equal(o Terms) bool {
	return same(t.Weight, o.Weight) && maps.EqualFunc(t.Limits, o.Limits, same)
}

// Enforced is one limit as it holds now.
type Enforced struct {
	Name   string `json:"name"`
	Amount int64  `json:"amount"`
	From   string `json:"from"` // where it stands: "set", the node's name, or that of its kind: "tenant/*"
	// Used is what of it is used now; nil where nobody looked.
	Used *int64 `json:"used,omitempty"`
}

// enforcedAt are the limits that hold at a node.
func enforcedAt(c limiter.Config, t Terms, node string) []Enforced {
	out := []Enforced{}
	kind, _, _ := strings.Cut(node, "/")
	from := kind + "/*"
	if _, own := c.Nodes[node]; own {
		from = node
	}
	for _, x := range limitNames {
		v := c.Value(node, x.shorthand)
		if v.Value == 0 {
			continue
		}
		e := Enforced{Name: x.name, Amount: v.Value, From: from}
		if _, set := t.Limits[x.name]; set {
			e.From = "set"
		}
		out = append(out, e)
	}
	return out
}

func cut(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return s
}
