package gemini

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"nightshift/limiter"
)

// Bounds of a loan.
const (
	MostLoanWait  = time.Minute // how long an ask may wait in place: what lies between lets connections idle about as long
	MostLoanLease = time.Hour   // of one ask or extension; whoever needs longer extends
	loanKept      = lateFor     // how long it is remembered after its lease or its end
)

// Lender lends permits for calls that their holders make themselves, past this
// process: the Live API, batches, SDKs whose base URL is fixed. What is estimated,
// refused, charged, recorded and learned is what the Transport does for calls of
// its own. Nothing about a loan is kept in this process: any Lender of the scope
// ends what another one lent. It is safe for concurrent use.
type Lender struct {
	t     *Transport
	store *LoanStore
}

// NewLender lends permits of the transport's gate.
func NewLender(t *Transport, store *LoanStore) *Lender { return &Lender{t: t, store: store} }

// LoanAsk asks for a loan, on behalf of the context's Caller.
type LoanAsk struct {
	// Owner is who asks, by a name that callers cannot choose: only the owner of a
	// loan gets to see and to end it.
	Owner string
	// RequestID is the asker's own name for the call, the same when it asks again
	// after an answer was lost: it gets the same loan. Empty: each ask is another.
	RequestID string
	Model     string        // any of its names
	Method    string        // "" means generateContent; also "bidiGenerateContent" and "batchGenerateContent", which no Transport passes
	Body      []byte        // the request, which is estimated; nil: Amounts say what it takes
	Amounts   LoanAmounts   // used without a Body
	Wait      time.Duration // how long to wait in place; negative: as long as the class does
	Lease     time.Duration // how long the permit holds; 0 means limiter.DefaultLease
}

// LoanAmounts are what an asker expects its call to take. Negative is not known.
type LoanAmounts struct {
	Requests     int64 // below 1 is 1
	InputTokens  int64
	OutputTokens int64 // not known: what such calls had so far, at most what the model may give
	Images       int64
}

// LoanState is how far a loan is.
type LoanState string

// The states. One that is open after its Expires has lapsed: what it held at once
// is free again, what it used up stays charged.
const (
	LoanOpen     LoanState = "open"
	LoanSettled  LoanState = "settled"
	LoanReleased LoanState = "released"
)

// Loan is a permit that was lent. Times are by the clock that decides.
type Loan struct {
	ID      string          `json:"id"`
	State   LoanState       `json:"state"`
	Permit  string          `json:"permit"` // the limiter's id of it, which call records have
	Model   string          `json:"model"`  // to be called
	Method  string          `json:"method"`
	Lane    limiter.Lane    `json:"lane"`
	Owner   string          `json:"owner"`
	Class   string          `json:"class"`
	Feature string          `json:"feature"`
	Path    limiter.Path    `json:"path"`
	Granted time.Time       `json:"granted"`
	Expires time.Time       `json:"expires"`
	Charged limiter.Amounts `json:"charged"`         // the estimate while it is open, then what was used
	Usage   *Usage          `json:"usage,omitempty"` // that was settled; nil when none was told
	TraceID string          `json:"trace_id"`
	// Assumed: nobody said what it used, as of Record.Assumed.
	Assumed bool          `json:"assumed,omitempty"`
	Waited  time.Duration `json:"waited,omitempty"` // for the permit
	// Over is what would have refused it, where nothing may (TransportConfig.Observe).
	Over string `json:"over,omitempty"`

	Repeated bool      `json:"-"` // an earlier ask or end of the same is answered again
	Lapsed   bool      `json:"-"` // its lease had ended
	Now      time.Time `json:"-"` // when this was read
}

// LoanError says why there is no such loan, or why it cannot be ended so.
type LoanError struct {
	Status int    // what an HTTP server should answer: 404 or 409
	Reason string // for programs: "NOT_FOUND", "SETTLED", "RELEASED", "LAPSED", "IN_USE", "REQUEST_ID_REUSED"
	Why    string // for people
	Loan   Loan   // that it is about, as it is; only its ID where the asker may see no more
}

// Error is the reason for people.
func (e *LoanError) Error() string { return e.Why }

func noLoan(id string) error {
	return &LoanError{http.StatusNotFound, "NOT_FOUND", fmt.Sprintf(
		"permit %.80q is not known: it was not given to the identity of this key, or its lease or its end is more than %d minutes ago", id, int(loanKept.Minutes())), Loan{ID: id}}
}

func (l *loan) conflict(reason, format string, args ...any) error {
	return &LoanError{http.StatusConflict, reason, fmt.Sprintf(format, args...), l.Loan}
}

// LoanEnd is what the holder of a loan says of its call.
type LoanEnd struct {
	Usage      *Usage        // nil: the provider said nothing of it
	Status     int           // HTTP status of the answer; 0 when there was none
	ErrorBody  []byte        // what the provider answered with a status from 400 on; optional, it is classified
	Finish     string        // finishReason; optional
	Latency    time.Duration // from sending to the last byte; 0 when it is not told
	FirstToken time.Duration // of a stream
	Partial    bool          // a stream's usage so far: the loan stays open
}

// extender moves the end of a permit's lease. *limiter.Redis does.
type extender interface {
	Extend(ctx context.Context, l limiter.Lane, id string, lease time.Duration) error
}
