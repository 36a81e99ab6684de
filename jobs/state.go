package jobs

// State is where a row is. It is one byte of the run's ledger.
type State byte

// The states. A row that waits for quota is Waiting: what it waits for is read
// from its ticket and the pause reasons, never stored. Throttled is not failed.
const (
	None      State = iota // no such row
	Queued                 // in its queue, not looked at yet
	Waiting                // refused a permit; has a place in the line
	Running                // a worker holds it
	RetryWait              // failed for real, will be tried again
	Done                   // has a good result
	Cached                 // a good result of the same key was taken over
	Failed                 // out of attempts, or can never succeed
	Blocked                // the model refused the content
	Truncated              // the answer is incomplete
	Expired                // its deadline passed
	Cancelled
	NumStates = 12
)

var stateNames = [NumStates]string{
	"none", "queued", "waiting", "running", "retry_wait", "done", "cached", "failed", "blocked", "truncated", "expired", "cancelled",
}

// String is the state's name in tables, results and counters.
func (s State) String() string {
	if s < NumStates {
		return stateNames[s]
	}
	return "unknown"
}

// ParseState reads a state's name; None for one it does not know.
func ParseState(name string) State {
	for i, n := range stateNames {
		if n == name {
			return State(i)
		}
	}
	return None
}

// Terminal says that a row in this state is finished unless retried.
func (s State) Terminal() bool { return s >= Done }

// Good says that the row has an answer the user can use.
func (s State) Good() bool { return s == Done || s == Cached }

// Counts are a run's rows by state. They always sum to the run's rows.
type Counts [NumStates]int64

// Total is the number of rows.
func (c Counts) Total() int64 {
	var n int64
	for _, v := range c[1:] {
		n += v
	}
	return n
}

// Open is the number of rows that are not finished.
func (c Counts) Open() int64 { return c[Queued] + c[Waiting] + c[Running] + c[RetryWait] }

// Bad is the number of rows that finished without a usable answer.
func (c Counts) Bad() int64 {
	return c[Failed] + c[Blocked] + c[Truncated] + c[Expired] + c[Cancelled]
}
