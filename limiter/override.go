package limiter

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Where an override comes from.
const (
	SourceOperator = "operator" // a person: `quota set`
	SourceProvider = "provider" // a 429 that named a lower limit than ours
)

// None as an override's Text takes a limit away.
const None = "none"

// NodeWeights is the node of overrides that set weights.
const NodeWeights = "weights"

// Override is one value that somebody set while the fleet runs. It stands over
// the configuration, survives restarts and new configurations, and holds until
// it is unset. One of a lane or class that is not configured now has no effect.
type Override struct {
	// Node is what it is of: a lane (Lane.String), a node ("tenant/acme",
	// "tenant/*"), a class ("class/bulk") or NodeWeights.
	Node string `json:"node"`
	// Name is the field: of a lane or node a limit's shorthand ("rpm") or "shadow";
	// of a lane also "outside" and "lend"; of a class "guarantee", "floor",
	// "trickle", "cap" or "output_floor"; of the weights "priority/high",
	// "tenant/acme", ….
	Name string `json:"name"`
	// Value is an amount (money in micro-dollars), a share in ppm, or a weight.
	Value int64 `json:"value,omitempty"`
	// Text is the value of "lend" and "shadow" (limits by shorthand, with commas;
	// None for none), and None for a limit that is taken away.
	Text string `json:"text,omitempty"`

	By     string    `json:"by,omitempty"`     // a person, for those who see it
	Source string    `json:"source,omitempty"` // SourceOperator (default) or SourceProvider
	Reason string    `json:"reason,omitempty"` // why, for those who see it
	At     time.Time `json:"at"`               // Redis's clock; Set fills it
}

// Change is what Override does at once: all of it, or nothing.
type Change struct {
	Set   []Override
	Unset []Override // only Node and Name count; without a Name all of the node
	By    string     // who, where an Override does not say
	// If looks at all that is set before the change; its error is Override's, and
	// nothing is changed then. Nil is content with anything. It may be called again.
	If func(set []Override) error
}

// ErrNoOverride says that nothing is set that could be unset.
var ErrNoOverride error = &ConfigError{Field: "unset", Problem: "nothing of the kind is set"}

// With is the configuration with the overrides that concern it put over it. The
// error is a *ConfigError: an override that is wrong in itself, or a whole that
// cannot be enforced. The provider's values only ever lower a limit.
func (c Config) With(overrides []Override) (Config, error) {
	out := c.clone()
	for _, o := range inOrder(overrides) {
		if err := o.check(); err != nil {
			return c, err
		}
		out.apply(o)
	}
	if err := out.Validate(); err != nil {
		return c, err
	}
	return out, nil
}

// inOrder has the defaults of nodes before the nodes that begin with them, and
// the operator's values before the provider's.
func inOrder(overrides []Override) []Override {
	return slices.SortedStableFunc(slices.Values(overrides), func(a, b Override) int {
		return cmp.Or(-compareBool(wildcard(a.Node), wildcard(b.Node)), strings.Compare(a.Node, b.Node),
			strings.Compare(a.Name, b.Name), compareBool(a.Source == SourceProvider, b.Source == SourceProvider))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func wildcard(node string) bool { return strings.HasSuffix(node, "/*") }

// changed is a list of overrides after a change. What an operator sets replaces
// what the provider said of it: the person knows that.
func changed(list []Override, ch Change, at time.Time) ([]Override, error) {
	if ch.If != nil {
		if err := ch.If(list); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(list)
	for _, u := range ch.Unset {
		n := len(out)
		out = slices.DeleteFunc(out, func(o Override) bool { return o.Node == u.Node && (u.Name == "" || o.Name == u.Name) })
		if len(out) == n {
			return nil, ErrNoOverride
		}
	}
	for _, o := range ch.Set {
		o.By, o.Source, o.At = cmp.Or(o.By, ch.By), cmp.Or(o.Source, SourceOperator), time.UnixMilli(at.UnixMilli()).UTC()
		out = slices.DeleteFunc(out, func(x Override) bool {
			return x.Node == o.Node && x.Name == o.Name && (x.Source == o.Source || o.Source == SourceOperator)
		})
		out = append(out, o)
	}
	return inOrder(out), nil
}

// who is the one who makes the change, for the event.
func (ch Change) who() string {
	for _, o := range ch.Set {
		if by := cmp.Or(o.By, ch.By); by != "" {
			return by
		}
	}
	return ch.By
}

// ByRun begins Override.By and Change.By where a run's own settings ask for the value
// ("the run's window"): nobody has typed quota set.
const ByRun = "the run's "

// how says by what means the limits of a subject were changed: "quota set by ada".
func (ch Change) how(subject string) string {
	if len(ch.Set) == 0 {
		return means("unset", ch.By)
	}
	if o := ch.Set[0]; o.Source == SourceProvider {
		return o.said()
	}
	var own []string
	for _, o := range ch.Set {
		if o.subject() == subject {
			own = append(own, o.By)
		}
	}
	return means("set", cmp.Or(strings.Join(distinct(own), " and "), ch.who()))
}

func means(done, by string) string {
	switch {
	case strings.HasPrefix(by, ByRun):
		return done + " by " + by
	case by == "":
		return "quota " + done
	}
	return "quota " + done + " by " + by
}

// why are the reasons that were given for what an event is of. A default
// ("tenant/*") also changes what begins with it: the reason is that of all then, if
// there is but one.
func (ch Change) why(subject string) string {
	var all, own []string
	for _, o := range ch.Set {
		if !strings.HasPrefix(o.By, ByRun) {
			all = append(all, o.Reason)
		}
		if o.subject() == subject && !strings.HasPrefix(o.By, ByRun) { // which says it already
			own = append(own, o.Reason)
		}
	}
	if all = distinct(all); own == nil && len(all) == 1 {
		own = all
	}
	return strings.Join(distinct(own), ", ")
}

// distinct are the texts that say something, each once.
func distinct(texts []string) (out []string) {
	for _, t := range texts {
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// subject is that of the event of a change to the override's node.
func (o Override) subject() string {
	if o.kind() == kindClass {
		return "class " + o.class()
	}
	return o.Node
}
