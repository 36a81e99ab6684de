package limiter

// SchemaVersion is the layout of everything below. A scope that was written by
// a newer one is refused, never guessed at.
const SchemaVersion = 3

// keys builds every key of a scope in Redis, but for closed:TARGET, which
// lua/closing.lua names: when a target was closed, by reason. All share one hash tag, so that a
// script may touch any of them on a Cluster too.
type keys struct {
	prefix string // "nightshift:{limiter:provider/project}:"
	scope  []string
	events []string
	audit  []string
	seen   string // a set of the nodes that got limits by a pattern
}

func newKeys(s Scope) keys {
	k := keys{prefix: "nightshift:{limiter:" + s.String() + "}:"}
	k.scope = []string{k.prefix + "scope"}
	k.seen = k.prefix + "nodes"
	k.events = []string{k.prefix + "events"}
	k.audit = []string{k.prefix + "audit"}
	return k
}

// lane gives a lane's keys in the order that lua/base.lua names.
func (k keys) lane(l Lane) []string {
	p := k.prefix + l.short() + ":"
	return []string{k.scope[0], p + "lane", p + "permits", p + "leases", p + "tickets", p + "leaves"}
}

// node gives a node's keys in the same order. Scripts that find a node on a path
// build the second by themselves (lua/nodes.lua); the others are never there.
func (k keys) node(name string) []string {
	p := k.prefix + "node:" + name
	return []string{k.scope[0], p, p + ":permits", p + ":leases", p + ":tickets", p + ":leaves"}
}

// Fields of the scope hash (lua/scope.lua).
const (
	fieldSchema     = "schema"
	fieldGeneration = "gen"
	fieldConfig     = "config"
	fieldOverrides  = "over"
	fieldRevision   = "wrev"
	fieldKnown      = "known" // that the counters of day and month are right, after a loss
	fieldCold       = "cold"  // that the loss of what was here before is dealt with
	fieldPause      = "zp"    // lua/pause.lua
	fieldThrottle   = "zt"
)
