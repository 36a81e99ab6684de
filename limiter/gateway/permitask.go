package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// Bounds of what is asked for a permit.
const (
	permitBody   = 1 << 20       // of all bodies but those that hold a request for Gemini
	leastLease   = time.Second   //
	mostTokens   = 1_000_000_000 // of one call, as in a report
	mostRequests = 100_000       // of one permit: a batch
	mostImages   = 10_000        //
)

// permitAsk is the body of POST /v1/permits.
type permitAsk struct {
	Model     string          `json:"model"`
	Method    string          `json:"method"`
	Request   json.RawMessage `json:"request"` // what will be sent, to be estimated
	Amounts   *permitAmounts  `json:"amounts"` // or what it will take
	RequestID string          `json:"request_id"`
	Class     string          `json:"class"`
	Feature   string          `json:"feature"`
	WaitMS    *int64          `json:"wait_ms"`
	LeaseMS   *int64          `json:"lease_ms"`
}

type permitAmounts struct {
	Requests     *int64 `json:"requests"`
	InputTokens  *int64 `json:"input_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
	Images       *int64 `json:"images"`
}

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// takePermit lends one.
func (v *visit) takePermit() *apiError {
	var told permitAsk
	if err := v.read(http.MethodPost, v.g.cfg.Bounds.Body, &told); err != nil {
		return err
	}
	ask, err := told.ask()
	if err != nil {
		return err
	}
	if v.caller.Class, v.caller.Feature, err = v.named(told.Class, told.Feature); err != nil {
		return err
	}
	ask.Owner = v.who.ID
	got, failed := v.g.cfg.Permits.Lend(v.watched(), ask)
	return v.answerPermit(got, failed)
}

// ask checks the fields.
func (p permitAsk) ask() (gemini.LoanAsk, *apiError) {
	a := gemini.LoanAsk{Model: p.Model, Method: cmp.Or(p.Method, "generateContent"), RequestID: p.RequestID}
	whole := given(p.Request)
	switch {
	case p.Model == "":
		return a, badRequest("model: must be set")
	case p.RequestID != "" && !requestIDPattern.MatchString(p.RequestID):
		return a, badRequest("request_id: want 1 to 128 of letters, digits and . _ : -")
	case whole == (p.Amounts != nil):
		return a, badRequest("want one of request (what will be sent to Gemini, to be estimated) and amounts (what it will take), there are %s", both(whole))
	case whole && p.Request[0] != '{':
		return a, badRequest("request: want the JSON object that will be sent to Gemini")
	}
	var err *apiError
	if whole {
		a.Body = p.Request
	} else if a.Amounts, err = p.Amounts.amounts(); err != nil {
		return a, err
	}
	if a.Wait, err = span("wait_ms", p.WaitMS, 0, gemini.MostLoanWait, -1); err != nil {
		return a, err
	}
	a.Lease, err = span("lease_ms", p.LeaseMS, leastLease, gemini.MostLoanLease, limiter.DefaultLease)
	return a, err
}

func both(yes bool) string {
	if yes {
		return "both"
	}
	return "none"
}

// given is false for what is absent or null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// amounts checks them. Without input_tokens nothing can be estimated.
func (p permitAmounts) amounts() (a gemini.LoanAmounts, err *apiError) {
	a = gemini.LoanAmounts{Requests: 1, OutputTokens: -1}
	for _, f := range []struct {
		name        string
		from        *int64
		to          *int64
		least, most int64
	}{
		{"requests", p.Requests, &a.Requests, 1, mostRequests},
		{"input_tokens", p.InputTokens, &a.InputTokens, 0, mostTokens},
		{"output_tokens", p.OutputTokens, &a.OutputTokens, 0, mostTokens},
		{"images", p.Images, &a.Images, 0, mostImages},
	} {
		if f.from == nil {
			continue
		}
		if *f.to = *f.from; *f.from < f.least || *f.from > f.most {
			return a, badRequest("amounts.%s: %d; want %d to %d", f.name, *f.from, f.least, f.most)
		}
	}
	if p.InputTokens == nil {
		return a, badRequest("amounts.input_tokens: must be set; send the request itself if you cannot count")
	}
	return a, nil
}

// span reads a time in milliseconds within bounds.
func span(name string, ms *int64, least, most, otherwise time.Duration) (time.Duration, *apiError) {
	if ms == nil {
		return otherwise, nil
	}
	if *ms < least.Milliseconds() || *ms > most.Milliseconds() {
		return 0, badRequest("%s: %d; want %d to %d", name, *ms, least.Milliseconds(), most.Milliseconds())
	}
	return time.Duration(*ms) * time.Millisecond, nil
}
