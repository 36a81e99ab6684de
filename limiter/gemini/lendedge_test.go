package gemini

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// TestLoanOfADeadProcess: the process that took a settlement died before the limiter
// knew. Settling again makes up for it, once.
func TestLoanOfADeadProcess(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	got := r.lend(lendAsk())
	held, err := r.store.read(r.Context(), got.ID)
	r.must(err)
	to := r.callOf(r.Context(), held).ends(held, LoanEnd{Usage: &Usage{Prompt: 7, Candidates: 1, Total: 8}, Status: 200})
	_, done, err := r.store.put(r.Context(), held, to, loanKept)
	if err != nil || !done {
		t.Fatal(done, err)
	}
	r.wantUsed("input_tpm", 100, 1) // what the limiter thinks
	for range 2 {
		again, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Usage: &Usage{Prompt: 50, Total: 50}, Status: 200})
		r.must(err)
		if !again.Repeated || again.Charged[limiter.InputTokens] != 7 {
			t.Errorf("%+v", again)
		}
		r.wantUsed("input_tpm", 7, 0)
	}
}

// leavingGate cancels its asker once the permit is given.
type leavingGate struct {
	*limiter.Redis
	leave func()
}

func (g leavingGate) Acquire(ctx context.Context, q limiter.Request) (*limiter.Permit, error) {
	p, err := g.Redis.Acquire(ctx, q)
	g.leave()
	return p, err
}

// TestLoanOfOneWhoLeft: an asker that hung up while its permit was given leaves none,
// unless it gave the call a name to ask for it again.
func TestLoanOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	leave := func(ask LoanAsk) error {
		ctx, cancel := context.WithCancel(r.caller())
		r.t.cfg.Gate = leavingGate{r.lim, cancel}
		defer func() { r.t.cfg.Gate = r.lim }()
		_, err := r.Lend(ctx, ask)
		return err
	}
	if err := leave(lendAsk()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r.wantUsed("input_tpm", 0, 0)
	ask := lendAsk()
	ask.RequestID = "order-1"
	r.must(leave(ask))
	r.wantUsed("input_tpm", 100, 1)
	if got := r.lend(ask); !got.Repeated {
		t.Errorf("%+v", got)
	}
	r.wantUsed("input_tpm", 100, 1)
}

// TestLoanThatCannotBeRemembered is given back: nobody could end it.
func TestLoanThatCannotBeRemembered(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	away := dialEmbedded(t)
	r.must(away.Close())
	r.store.rdb = away
	_, err := r.Lend(r.caller(), lendAsk())
	var d *limiter.Denied
	if !errors.As(err, &d) || d.Reason != limiter.ReasonUnavailable || d.RetryAfterMS <= 0 {
		t.Errorf("%v", err)
	}
	r.wantUsed("input_tpm", 0, 0)
}

// TestLoanEstimates: what is not said is taken at the most that may be, and money is
// held for it.
func TestLoanEstimates(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	for name, c := range map[string]struct {
		ask  LoanAsk
		want limiter.Amounts // requests, input, output, total, images
	}{
		"all":       {LoanAsk{Amounts: LoanAmounts{Requests: 2, InputTokens: 10, OutputTokens: 5, Images: 1}}, limiter.Amounts{2, 10, 5, 15, 1}},
		"no output": {LoanAsk{Amounts: LoanAmounts{InputTokens: 10, OutputTokens: -1}}, limiter.Amounts{1, 10, DefaultMaxOutput, 10 + DefaultMaxOutput}},
		"a batch":   {LoanAsk{Method: "batchGenerateContent", Amounts: LoanAmounts{Requests: 3, InputTokens: 2_000_000, OutputTokens: -1}}, limiter.Amounts{3, 2_000_000, 3 * DefaultMaxOutput, 2_000_000 + 3*DefaultMaxOutput}},
		"embedding": {LoanAsk{Model: "gemini-embedding-001", Method: "embedContent", Amounts: LoanAmounts{InputTokens: 10, OutputTokens: -1}}, limiter.Amounts{1, 10, 0, 10}},
		"a request": {LoanAsk{Body: []byte(`{"contents":[{"parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":7}}`)}, limiter.Amounts{1, 10, 7, 17}},
	} {
		c.ask.Owner = "k_1"
		if c.ask.Model == "" {
			c.ask.Model = "models/Gemini-2.5-flash"
		}
		got, err := r.Lend(r.caller(), c.ask)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if held := got.Charged[limiter.MicroUSD]; held <= 0 {
			t.Errorf("%s: %d micro-dollars are held", name, held)
		}
		if got.Charged[limiter.MicroUSD], got.Charged[limiter.Concurrency] = 0, 0; got.Charged != c.want {
			t.Errorf("%s: %v, want %v", name, got.Charged, c.want)
		}
		if d := got.Expires.Sub(got.Granted); d != limiter.DefaultLease {
			t.Errorf("%s: a lease of %s", name, d)
		}
	}
}

// TestLoansTeach: estimates of a feature follow what its loans took, also when other
// processes settle them.
func TestLoansTeach(t *testing.T) {
	t.Parallel()
	learning := NewLearning(nil, limiter.Scope{}, LearningOptions{})
	r := newLendRig(t, dialEmbedded(t), lendLimits, func(c *TransportConfig) { c.Estimator = &Estimator{Prices: EmbeddedPrices(), Learning: learning} })
	ask := LoanAsk{Owner: "k_1", Model: "gemini-2.5-flash", Body: []byte(`{"contents":[{"parts":[{"text":"` + strings.Repeat("hello ", 200) + `"}]}]}`)}
	first := r.lend(ask).Charged
	for range 40 {
		got := r.lend(ask)
		other := NewLender(r.t, r.store)
		_, err := other.Settle(r.Context(), "k_1", got.ID, LoanEnd{Usage: &Usage{Prompt: 900, Candidates: 50, Total: 950}, Status: 200, Finish: "STOP"})
		r.must(err)
	}
	if now := r.lend(ask).Charged; now[limiter.InputTokens] < 850 || now[limiter.InputTokens] == first[limiter.InputTokens] || now[limiter.OutputTokens] > 60 {
		t.Errorf("at first %v, now %v", first, now)
	}
}

// TestLoanWithoutAPrice: where a budget holds, a class that waits gets no permit for a
// model that nobody knows the price of.
func TestLoanWithoutAPrice(t *testing.T) {
	t.Parallel()
	prices, err := ReadPrices(strings.NewReader(`{unit: usd_per_million_tokens, models: [{names: [other], prices: [{input: 1, output: 1}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := newLendRig(t, dialEmbedded(t), lendLimits, func(c *TransportConfig) {
		c.Prices, c.RefuseUnpriced = prices, map[string]bool{"interactive": true}
	})
	_, err = r.Lend(r.caller(), lendAsk())
	var d *limiter.Denied
	if !errors.As(err, &d) || d.Reason != limiter.ReasonNoPrice {
		t.Errorf("%v", err)
	}
	r.wantUsed("input_tpm", 0, 0)
	if list := r.records.all(); len(list) != 1 || !list[0].Lent || list[0].Refusal != limiter.ReasonNoPrice {
		t.Errorf("%+v", list)
	}
}

// TestLoanWhileObserving: nothing is refused, and it is said what would have been.
func TestLoanWhileObserving(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), limiter.Limits{RPM: 1}, func(c *TransportConfig) { c.Observe = true })
	r.lend(lendAsk())
	got := r.lend(lendAsk())
	if got.Over != "rpm" {
		t.Errorf("%+v", got)
	}
	_, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Status: 200, Usage: &Usage{Prompt: 1, Total: 1}})
	r.must(err)
	if x := r.records.all()[0]; x.Over != "rpm" || x.Decision != Observed {
		t.Errorf("%+v", x)
	}
}

// TestLoanLooks: a loan given as a look at an open breaker closes it when its call
// was answered.
func TestLoanLooks(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	_, err := r.lim.Trip(r.Context(), limiter.Trip{Lane: r.lane, Scope: limiter.BreakLane, Reason: limiter.ReasonBreaker, By: "test", Certain: true})
	r.must(err)
	if _, err := r.Lend(r.caller(), lendAsk()); err == nil {
		t.Fatal("a permit while the breaker is open")
	}
	r.pass(2 * time.Minute)
	look := r.lend(lendAsk())
	if _, err := r.Lend(r.caller(), lendAsk()); err == nil {
		t.Error("a second look")
	}
	_, err = r.Settle(r.caller(), "k_1", look.ID, LoanEnd{Status: 200, Usage: &Usage{Prompt: 1, Total: 1}})
	r.must(err)
	r.lend(lendAsk())
	r.lend(lendAsk())
}

// TestLoansAreMetered: as calls of their feature, without a latency that nobody told
// or that is a session's.
func TestLoansAreMetered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method  string
		latency time.Duration
		want    int64
	}{
		"told": {"generateContent", time.Second, 1}, "not told": {"generateContent", 0, 0}, "a session": {"bidiGenerateContent", time.Hour, 0},
	} {
		r := newLendRig(t, dialEmbedded(t), lendLimits)
		ask := lendAsk()
		ask.Method = c.method
		got := r.lend(ask)
		_, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Status: 200, Usage: &Usage{Prompt: 9, Total: 9}, Latency: c.latency})
		r.must(err)
		var s UsageSample
		s.count(r.records.all()[0])
		if s.Sent != 1 || s.Good != 1 || s.InputTokens != 9 || s.Bypassed != 0 || s.Latency.N() != c.want {
			t.Errorf("%s: %+v, %d latencies", name, s, s.Latency.N())
		}
	}
}
