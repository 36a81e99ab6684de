package limiter

import (
	"strings"
	"time"
)

// Amounts is how much of each unit a call takes, indexed by Unit.
type Amounts [NumUnits]int64

// Priority is a level of the path below the run: its leaf's weight among the
// leaves of the same class.
type Priority string

// The priorities of bulk work.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Path says on whose behalf a call is made, from the outside in. Empty levels
// are left out. Every level that has limits must have room; the whole path plus
// priority is the leaf whose line a refused job waits in.
type Path struct {
	Organization string   `json:"organization,omitempty"`
	Tenant       string   `json:"tenant,omitempty"`
	Team         string   `json:"team,omitempty"`
	Key          string   `json:"key,omitempty"` // our own key's id, never a provider's key
	Run          string   `json:"run,omitempty"`
	Priority     Priority `json:"priority,omitempty"`
}

// Leaf names the line that a refused job of this path waits in:
// "tenant/team/key/run/priority" with empty levels as "-".
func (p Path) Leaf() string {
	parts := []string{p.Organization, p.Tenant, p.Team, p.Key, p.Run, string(p.Priority)}
	for i, s := range parts {
		if s == "" {
			parts[i] = "-"
		}
	}
	return strings.Join(parts, "/")
}

// ParseLeaf reads what Path.Leaf wrote; a malformed leaf gives an empty Path.
func ParseLeaf(s string) Path {
	p := strings.Split(s, "/")
	if len(p) != 6 {
		return Path{}
	}
	for i := range p {
		if p[i] == "-" {
			p[i] = ""
		}
	}
	return Path{Organization: p[0], Tenant: p[1], Team: p[2], Key: p[3], Run: p[4], Priority: Priority(p[5])}
}

// Request asks for a permit for one call.
type Request struct {
	ID      string        // permit id, unique for each call; asking again with an id that holds a permit returns that permit
	Lane    Lane          //
	Class   string        // a class of the configuration
	Path    Path          //
	Feature string        // what the call is for; a call without one is refused by the adapter
	Amounts Amounts       // the estimate; Requests is at least 1 unless the call costs none
	Lease   time.Duration // how long the permit holds without Extend; 0 means DefaultLease
	// Ticket names what waits when there is no room: a stable id of the job, not
	// of the attempt. Empty: nothing waits, a refusal leaves no trace.
	Ticket string
	// Wait is how long the caller still waits in place: it asks again and again, with
	// the same ID, after Denied.AskAgain. A class with tickets keeps it a place in its line
	// (Ticket must be set), any other one among the callers who wait: they come before
	// the classes below as soon as there is room, and among themselves by the weights
	// of their paths. Denied.Position is 0 when there is no hope within Wait. Who leaves
	// says so (Drop, by its ID); who does not ask again for two seconds has left.
	Wait time.Duration
	// Full says that the caller has no free slot for the call now: a decision
	// is not wanted, only a place in the line. The answer is always a refusal
	// (reason ReasonSlots), for a request that fits too.
	Full bool
	// Force charges the call whatever is left and whatever is closed, a debt that
	// the next admissions pay: for calls that are only metered, or were made
	// elsewhere. A request that is too large, and one for an unknown lane, is
	// refused all the same. Permit.Over says what would have refused it.
	Force bool
	// Owed says that the call was made already and that it is asked until it is charged:
	// a permit of which the caller did not hear in time is kept for its next try, which
	// a release in between would leave with nothing to settle.
	Owed bool

	ask bool // only asks what would be (Explain)
}

// DefaultLease is how long a permit holds when the request does not say. It is
// longer than the longest call (Gemini's own deadline is ten minutes at most on
// the standard tier; callers of longer ones extend).
const DefaultLease = 5 * time.Minute

// Permit is a right to make one call. It must be settled or released; a holder
// that dies gives concurrency back when the lease ends, while usage and money
// stay charged at the estimate.
type Permit struct {
	ID      string    `json:"id"`
	Lane    Lane      `json:"lane"`
	Class   string    `json:"class"`
	Granted time.Time `json:"granted"` // Redis's clock
	Expires time.Time `json:"expires"` // end of the lease, Redis's clock
	Amounts Amounts   `json:"amounts"` // what was charged
	// Over is what would have refused a forced request: the limit by shorthand
	// ("rpm"), or the reason where no limit binds ("paused", "cooldown",
	// "smoothing"); "" when nothing would have. It is not kept: asking again with
	// the same id does not tell.
	Over string `json:"over,omitempty"`
	// Shadow are the limits in shadow that would have refused: "lane rpm",
	// "tenant/acme input_tpm". It is not kept either.
	Shadow []string `json:"shadow,omitempty"`
	// Soft are the money limits that this call brought, or found, past the soft part
	// of Config: "lane usd_per_day", "tenant/acme usd_per_month", with commas; ""
	// when there are none. It asks for a cheaper way; it is not kept either.
	Soft string `json:"soft,omitempty"`
	// Probe says that a breaker is half open and this call looks whether it still
	// holds: its outcome is to be told (Trip, Probed). It is not kept either.
	Probe bool `json:"probe,omitempty"`
}

// Outcome is how a permit ended.
type Outcome string

// The outcomes. A call that was refused by the provider is Settled, since it
// may have been counted there (design rule 9).
const (
	Settled  Outcome = "settled"  // sent: Used replaces the estimate
	Released Outcome = "released" // never sent: everything is given back
)

// Settlement ends a permit, or corrects it when Final is false (a stream's
// usage so far).
type Settlement struct {
	ID      string
	Lane    Lane
	Outcome Outcome
	Used    Amounts // real usage; Concurrency and Streams are ignored
	Partial bool    // keep the permit open; only usage is corrected
}

// Pulled is a ticket that a pull let go: its job may come now, and passes.
type Pulled struct {
	Ticket string
	Leaf   string // Path.Leaf of its line
}
