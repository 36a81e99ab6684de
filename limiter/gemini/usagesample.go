package gemini

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UsageSample is what was counted for one model, class and feature in one
// bucket of time. Its counters come in sums: Calls = Sent + Refused, and
// Sent = Good + Provider429 + ProviderFailed + Abandoned. Calls of countTokens
// and about models are not counted: they take no quota.
type UsageSample struct {
	At      time.Time // when the bucket begins, by Redis's clock
	Model   string    // the lane's model
	Region  string    // the lane's region
	Class   string    //
	Feature string    // OtherFeature beyond what a meter tells apart

	Calls          int64 // that wanted an answer now: Sent + Refused
	Sent           int64 // that went out, admitted or not
	Refused        int64 // by us, for want of room or time, a pause, a cool-down, or no shared state
	Queued         int64 // no calls: put back with a ticket, to come again
	Invalid        int64 // no calls: malformed, larger than a limit for good, without limits, or given up before they were sent
	Good           int64 // of Sent: whole answers
	Provider429    int64 // of Sent: the provider refused for quota or capacity
	ProviderFailed int64 // of Sent: any other answer that is no success, or none in time
	Abandoned      int64 // of Sent: the caller hung up
	RequestFaults  int64 // of ProviderFailed: what the request itself or its answer's content caused
	Bypassed       int64 // of Sent: made directly and reported afterwards (Direct)
	Soft           int64 // of Sent: passed by the local allowance while the shared state was away
	WouldRefuse    int64 // of Sent: only observed, the limiter would have refused

	Requests     int64 // of Sent, as the quota counts them: each text of a batch is one
	InputTokens  int64 // of Sent, as settled
	OutputTokens int64 //
	TotalTokens  int64 //
	MicroUSD     int64 // by the price book, else as settled

	Measured        int64 // of Sent: finished answers with the provider's own count, to which what had been charged before the call is compared
	EstimatedInput  int64 // of Measured: input tokens charged before the call
	MeasuredInput   int64 // of Measured: input tokens that the provider counted
	UnderInput      int64 // of Measured: calls that had more input than was charged
	EstimatedOutput int64 // of Measured: output tokens charged before the call
	MeasuredOutput  int64 // of Measured: output tokens that the provider counted, thinking included
	UnderOutput     int64 // of Measured: calls that had more output than was charged
	OwnLimit        int64 // of Refused: by a limit of the caller's own tenant, team, key or feature, or to save money

	// Degraded are those of Calls, by DegradeCauses, that got another answer than
	// their model's; they are counted as refused or failed too, since they are no
	// success of the provider. DegradedBy are the same by kind of answer: cached,
	// light, model, canned.
	Degraded   [len(DegradeCauses)]int64
	DegradedBy [len(degradeKinds)]int64

	CachedTokens       int64 // of InputTokens: those that the provider had in its cache
	CacheSavedMicroUSD int64 // what they would have cost more as fresh input, by the price book
	ReusedRows         int64 // no calls: rows of a run whose good result was there already

	Uncontested   int64 // of Refused: not for quota that other classes may have taken (limiter.Contested)
	ProviderMoney int64 // of Provider429: for money, which is no quota either

	Latency    Histogram // of unary calls that were answered or failed: wait for the permit and call together
	FirstToken Histogram // of streams: from the call's arrival to its first token, or to its failure without one
	Waited     Histogram // of Calls: for the permit

	tallies Histogram // of things by code (usagetally.go) instead of by duration
}

// OtherFeature stands for all features beyond those that are told apart.
const OtherFeature = "other"

// counters gives every counter in the order in which they are stored; new ones
// go to the end.
func (s *UsageSample) counters() []*int64 {
	list := []*int64{
		&s.Calls, &s.Sent, &s.Refused, &s.Queued, &s.Invalid,
		&s.Good, &s.Provider429, &s.ProviderFailed, &s.Abandoned, &s.RequestFaults,
		&s.Bypassed, &s.Soft, &s.WouldRefuse,
		&s.Requests, &s.InputTokens, &s.OutputTokens, &s.TotalTokens, &s.MicroUSD,
		&s.Measured, &s.EstimatedInput, &s.MeasuredInput, &s.UnderInput,
		&s.EstimatedOutput, &s.MeasuredOutput, &s.UnderOutput, &s.OwnLimit,
	}
	for i := range s.Degraded {
		list = append(list, &s.Degraded[i])
	}
	for i := range s.DegradedBy {
		list = append(list, &s.DegradedBy[i])
	}
	return append(list, &s.CachedTokens, &s.CacheSavedMicroUSD, &s.ReusedRows, &s.Uncontested, &s.ProviderMoney)
}

// RefusedShared are those of Refused that no limit of the caller's own refused: for want
// of room, in time, or during a pause.
func (s *UsageSample) RefusedShared() int64 { return max(0, s.Refused-s.OwnLimit) }

// ContestedHere are those of Refused that were for quota which other classes may have
// taken: what a pause of them can help.
func (s *UsageSample) ContestedHere() int64 {
	return max(0, s.Refused-max(s.Uncontested, s.OwnLimit)) // an older version counted OwnLimit alone
}

// ContestedThere are the provider's refusals for quota or capacity, those for money left out.
func (s *UsageSample) ContestedThere() int64 { return max(0, s.Provider429-s.ProviderMoney) }

// DegradedByCause is Degraded by name, without zeros.
func (s *UsageSample) DegradedByCause() map[DegradeCause]int64 {
	out := map[DegradeCause]int64{}
	for i, n := range s.Degraded {
		if n > 0 {
			out[DegradeCauses[i]] = n
		}
	}
	return out
}

// DegradedByKind is DegradedBy by name, without zeros.
func (s *UsageSample) DegradedByKind() map[DegradeKind]int64 {
	out := map[DegradeKind]int64{}
	for i, n := range s.DegradedBy {
		if n > 0 {
			out[degradeKinds[i]] = n
		}
	}
	return out
}

func (s *UsageSample) histograms() []*Histogram {
	return []*Histogram{&s.Latency, &s.FirstToken, &s.Waited, &s.tallies}
}

// Merge adds another sample's counts; whose they are and when stays as it is.
func (s *UsageSample) Merge(o UsageSample) {
	from := o.counters()
	for i, n := range s.counters() {
		*n += *from[i]
	}
	more := o.histograms()
	for i, h := range s.histograms() {
		h.Merge(*more[i])
	}
}

// pack writes the counts as lua/meter.lua adds them up: the number of counters,
// the counters, then for each histogram the number of its bins and the bins.
func (s *UsageSample) pack() string {
	counters := s.counters()
	out := []int64{int64(len(counters))}
	for _, n := range counters {
		out = append(out, *n)
	}
	for _, h := range s.histograms() {
		out = append(out, int64(len(h.bins)))
		for _, b := range h.bins {
			out = append(out, b.bucket, b.n)
		}
	}
	text, _ := json.Marshal(out) // integers always can be written
	return string(text)
}

// unpack reads what pack or the script wrote. Counters that this version does
// not know are passed over.
func (s *UsageSample) unpack(text string) error {
	in, err := readNumbers(text)
	if err != nil {
		return err
	}
	take := func(n int64) []int64 {
		if n < 0 || n > int64(len(in)) {
			in = nil
			return nil
		}
		head := in[:n]
		in = in[n:]
		return head
	}
	next := func() int64 {
		if head := take(1); head != nil {
			return head[0]
		}
		return -1
	}
	counts := take(next())
	for i, n := range s.counters() {
		if i < len(counts) {
			*n = counts[i]
		}
	}
	for i, h := range s.histograms() {
		n := next()
		if n < 0 && i == len(s.histograms())-1 {
			break // an older version had no tallies
		}
		if n < 0 {
			return fmt.Errorf("counts are cut: %q", text)
		}
		h.bins = binsOf(take(2 * n))
	}
	return nil
}

// readNumbers reads integers as pack and the script write them, "[1,2]". A page of a large
// fleet has a hundred thousand of them, on which encoding/json took most of its time.
func readNumbers(text string) ([]int64, error) {
	rest, begins := strings.CutPrefix(text, "[")
	rest, ends := strings.CutSuffix(rest, "]")
	if !begins || !ends {
		return nil, fmt.Errorf("%q is no list of numbers", text)
	}
	out := make([]int64, 0, strings.Count(rest, ",")+1)
	for more := rest != ""; more; {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of numbers: %w", text, err)
		}
		out = append(out, n)
	}
	return out, nil
}

func binsOf(flat []int64) []bin {
	bins := make([]bin, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		bins = append(bins, bin{flat[i], flat[i+1]})
	}
	return bins
}
