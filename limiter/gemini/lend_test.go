package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// lendRig is a Lender over the limiter on a Redis whose clock the test has.
type lendRig struct {
	*testing.T
	*Lender
	mu      sync.Mutex
	now     time.Time // guarded by mu
	lim     *limiter.Redis
	lane    limiter.Lane
	records *keptRecords
	rdb     *redis.Client
}

type keptRecords struct {
	mu   sync.Mutex
	list []Record
}

func (k *keptRecords) Put(r Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, r)
}

func (k *keptRecords) all() []Record {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Record(nil), k.list...)
}

func newLendRig(t *testing.T, rdb *redis.Client, limits limiter.Limits, change ...func(*TransportConfig)) *lendRig {
	t.Helper()
	r := &lendRig{T: t, now: time.Now().Truncate(time.Second), records: &keptRecords{}, rdb: rdb}
	lanes, err := NewLaneMap(fmt.Sprintf("lend-%s", newID()[:8]), "", Model{Name: "gemini-2.5-flash", Aliases: []string{"gemini-flash-latest"}}, Model{Name: "gemini-embedding-001", Context: 2048})
	r.must(err)
	r.lane = lanes.lane("gemini-2.5-flash")
	r.lim = limiter.NewRedis(rdb, r.lane.Scope(), limiter.RedisOptions{Now: r.clock, Timeout: 30 * time.Second})
	c := limiter.Config{Scope: r.lane.Scope(), Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}}
	for _, l := range lanes.Lanes() {
		c.Lanes = append(c.Lanes, limiter.LaneConfig{Lane: l, Limits: limits, Lend: "now"})
	}
	r.must(r.lim.Configure(t.Context(), c))
	cfg := TransportConfig{APIKey: testKey, Gate: r.lim, Lanes: lanes, Records: r.records}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := NewTransport(cfg)
	r.must(err)
	r.Lender = NewLender(tr, NewLoanStore(rdb, r.lane.Scope(), r.clock))
	return r
}

func (r *lendRig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *lendRig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *lendRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *lendRig) caller() context.Context {
	return WithCaller(r.Context(), Caller{Class: "interactive", Feature: "live", Path: limiter.Path{Tenant: "acme", Key: "k_1"}})
}

// lendAsk is what most tests ask for.
func lendAsk() LoanAsk {
	return LoanAsk{Owner: "k_1", Model: "gemini-2.5-flash", Amounts: LoanAmounts{Requests: 1, InputTokens: 100, OutputTokens: 1000}, Lease: time.Minute}
}

func (r *lendRig) lend(ask LoanAsk) Loan {
	r.Helper()
	got, err := r.Lend(r.caller(), ask)
	r.must(err)
	return got
}

// used is what is charged against a limit of the lane, and held at once.
func (r *lendRig) used(limit string) (used, held int64) {
	r.Helper()
	st, err := r.lim.State(r.Context(), r.lane)
	r.must(err)
	for _, l := range st.Limits {
		if l.Name == limit {
			used = l.Used
		}
		if l.Name == "concurrency" {
			held = l.Used
		}
	}
	return used, held
}

func (r *lendRig) wantUsed(limit string, used, held int64) {
	r.Helper()
	if u, h := r.used(limit); u != used || h != held {
		r.Errorf("%s: %d used and %d held, want %d and %d", limit, u, h, used, held)
	}
}

// refusedFor checks the reason of a *LoanError.
func refusedFor(t *testing.T, err error, status int, reason string) {
	t.Helper()
	var e *LoanError
	if !errors.As(err, &e) || e.Status != status || e.Reason != reason || e.Why == "" {
		t.Errorf("%v (%+v), want %d %s", err, e, status, reason)
	}
}

var lendLimits = limiter.Limits{RPM: 1000, InputTPM: 10_000_000, OutputTPM: 10_000_000, Concurrency: 500, USDPerDay: 100_000_000_000}

// TestLoanIsSettledByAnother: a permit that one process lent is ended by another one,
// by what was used, once; the record, the cost and the charge say the same.
func TestLoanIsSettledByAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newLendRig(t, rdb, lendLimits)
		got := r.lend(lendAsk())
		if got.State != LoanOpen || got.Repeated || got.Charged[limiter.InputTokens] != 100 || got.Charged[limiter.OutputTokens] != 1000 ||
			got.Charged[limiter.MicroUSD] != 2530 || got.Model != "gemini-2.5-flash" || !got.Expires.Equal(r.clock().Add(time.Minute)) {
			t.Errorf("%+v", got)
		}
		r.wantUsed("input_tpm", 100, 1)
		other := NewLender(r.t, NewLoanStore(rdb, r.lane.Scope(), r.clock)) // nothing is kept in a Lender
		r.pass(10 * time.Second)
		ctx, obs := Observe(context.Background())
		end := LoanEnd{Usage: &Usage{Prompt: 120, Candidates: 40, Thoughts: 10, Total: 170}, Status: 200, Latency: 3 * time.Second}
		done, err := other.Settle(ctx, "k_1", got.ID, end)
		r.must(err)
		if done.State != LoanSettled || done.Repeated || done.Lapsed || done.Charged[limiter.InputTokens] != 120 || done.Charged[limiter.OutputTokens] != 50 || done.Charged[limiter.MicroUSD] != 161 {
			t.Errorf("%+v", done)
		}
		if obs.MicroUSD != 161 || !obs.HasUsage || obs.Verdict != nil {
			t.Errorf("%+v", obs)
		}
		r.wantUsed("input_tpm", 120, 0)
		r.wantUsed("usd_per_day", 161, 0)
		for range 2 { // and again, with other figures
			end.Usage = &Usage{Prompt: 999, Total: 999}
			again, err := r.Settle(ctx, "k_1", got.ID, end)
			r.must(err)
			if !again.Repeated || again.Charged != done.Charged || obs.Usage.Prompt != 120 || obs.MicroUSD != 161 {
				t.Errorf("%+v, %+v", again, obs)
			}
		}
		r.wantUsed("input_tpm", 120, 0)
		list := r.records.all()
		if len(list) != 1 {
			t.Fatalf("%d records", len(list))
		}
		x := list[0]
		if !x.Lent || x.Direct || x.Decision != Admitted || !x.Sent || x.Permit != got.Permit || x.Usage.Prompt != 120 || *x.MicroUSD != 161 || x.TookMS != 3000 ||
			x.Class != "interactive" || x.Feature != "live" || x.Path.Tenant != "acme" || x.Estimate[limiter.OutputTokens] != 1000 || x.Status != 200 || x.TraceID == "" || x.Held.IsZero() {
			t.Errorf("%+v", x)
		}
	})
}

// TestLoanLapses: what a dead holder held at once comes back with the lease, what it
// would have used stays; a settlement after that corrects usage, and nothing twice.
func TestLoanLapses(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newLendRig(t, rdb, lendLimits)
		got := r.lend(lendAsk())
		r.pass(30 * time.Second)
		longer, err := r.Extend(r.caller(), "k_1", got.ID, time.Minute)
		r.must(err)
		if want := r.clock().Add(time.Minute); !longer.Expires.Equal(want) {
			t.Errorf("the lease ends at %s, want %s", longer.Expires, want)
		}
		r.pass(59 * time.Second)
		r.wantUsed("concurrency", 1, 1)
		r.pass(2 * time.Second)
		r.wantUsed("usd_per_day", 2530, 0)
		seen, err := r.Look(r.caller(), "k_1", got.ID)
		r.must(err)
		if !seen.Lapsed || seen.State != LoanOpen {
			t.Errorf("%+v", seen)
		}
		_, err = r.Extend(r.caller(), "k_1", got.ID, time.Minute)
		refusedFor(t, err, http.StatusConflict, "LAPSED")
		ask := lendAsk()
		ask.RequestID = "other"
		second := r.lend(ask)
		done, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Usage: &Usage{Prompt: 100, Candidates: 10, Total: 110}, Status: 200})
		r.must(err)
		if !done.Lapsed || done.State != LoanSettled {
			t.Errorf("%+v", done)
		}
		r.wantUsed("usd_per_day", 2530+55, 1) // the second one's place is its own still
		r.pass(61 * time.Second)
		r.pass(2 * time.Hour)
		_, err = r.Release(r.caller(), "k_1", second.ID)
		r.must(err)
	})
}

// TestAbandonedLoans: two hundred holders that die leave nothing but money.
func TestAbandonedLoans(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newLendRig(t, rdb, lendLimits)
		for range 200 {
			r.lend(lendAsk())
		}
		r.wantUsed("concurrency", 200, 200)
		r.pass(61 * time.Second)
		r.wantUsed("usd_per_day", 200*2530, 0)
		if n := len(r.records.all()); n != 0 {
			t.Errorf("%d calls are recorded that nobody knows to have been made", n)
		}
		r.lend(lendAsk())
		r.wantUsed("concurrency", 1, 1)
	})
}

// TestLoanIsAskedForAgain: under the same name the same loan, also by many at once.
func TestLoanIsAskedForAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		r := newLendRig(t, rdb, lendLimits)
		ask := lendAsk()
		ask.RequestID = "order-1"
		ids := make(chan string, 20)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				got, err := r.Lend(r.caller(), ask)
				if err != nil {
					t.Error(err)
				}
				ids <- got.ID + got.Permit
			})
		}
		all.Wait()
		first := <-ids
		for range 19 {
			if id := <-ids; id != first {
				t.Errorf("%s and %s", first, id)
			}
		}
		r.wantUsed("input_tpm", 100, 1)
		got := r.lend(ask)
		if !got.Repeated {
			t.Errorf("%+v", got)
		}
		other := ask
		other.Amounts.InputTokens++
		_, err := r.Lend(r.caller(), other)
		refusedFor(t, err, http.StatusConflict, "REQUEST_ID_REUSED")
		foreign := ask
		foreign.Owner = "k_2"
		if mine := r.lend(foreign); mine.ID == got.ID {
			t.Error("two owners share a loan")
		}
		_, err = r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Status: 200})
		r.must(err)
		_, err = r.Lend(r.caller(), ask)
		refusedFor(t, err, http.StatusConflict, "SETTLED")
	})
}

// TestWhoseLoan: nobody but its owner sees or ends a loan.
func TestWhoseLoan(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	got := r.lend(lendAsk())
	for name, try := range map[string]func(owner, id string) error{
		"look":    func(o, id string) error { _, err := r.Look(r.caller(), o, id); return err },
		"extend":  func(o, id string) error { _, err := r.Extend(r.caller(), o, id, time.Minute); return err },
		"release": func(o, id string) error { _, err := r.Release(r.caller(), o, id); return err },
		"settle":  func(o, id string) error { _, err := r.Settle(r.caller(), o, id, LoanEnd{Status: 200}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			refusedFor(t, try("k_2", got.ID), http.StatusNotFound, "NOT_FOUND")
			refusedFor(t, try("k_1", "p_00000000000000000000000000000000"), http.StatusNotFound, "NOT_FOUND")
		})
	}
	r.wantUsed("input_tpm", 100, 1)
}

// TestLoanIsReleased gives all back, once; what is over stays over.
func TestLoanIsReleased(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	got := r.lend(lendAsk())
	for i := range 2 {
		back, err := r.Release(r.caller(), "k_1", got.ID)
		r.must(err)
		if back.State != LoanReleased || back.Repeated != (i > 0) || back.Charged != (limiter.Amounts{}) {
			t.Errorf("%+v", back)
		}
		r.wantUsed("usd_per_day", 0, 0)
	}
	_, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Status: 200})
	refusedFor(t, err, http.StatusConflict, "RELEASED")
	_, err = r.Extend(r.caller(), "k_1", got.ID, time.Minute)
	refusedFor(t, err, http.StatusConflict, "RELEASED")
	if n := len(r.records.all()); n != 0 {
		t.Errorf("%d records of a call that was not made", n)
	}
}

// TestLoanSoFar: usage so far raises the charge, never lowers it, and shows that the
// call was sent.
func TestLoanSoFar(t *testing.T) {
	t.Parallel()
	r := newLendRig(t, dialEmbedded(t), lendLimits)
	got := r.lend(lendAsk())
	for _, out := range []int64{50, 3000, 2000} {
		now, err := r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Partial: true, Usage: &Usage{Prompt: 100, Candidates: out, Total: 100 + out}})
		r.must(err)
		if want := max(1000, out); now.State != LoanOpen || out != 2000 && now.Charged[limiter.OutputTokens] != want {
			t.Errorf("%+v", now)
		}
	}
	r.wantUsed("output_tpm", 3000, 1)
	_, err := r.Release(r.caller(), "k_1", got.ID)
	refusedFor(t, err, http.StatusConflict, "IN_USE")
	_, err = r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Usage: &Usage{Prompt: 100, Candidates: 3500, Total: 3600}, Status: 200})
	r.must(err)
	r.wantUsed("output_tpm", 3500, 0)
	_, err = r.Settle(r.caller(), "k_1", got.ID, LoanEnd{Partial: true, Usage: &Usage{Prompt: 1, Total: 1}})
	refusedFor(t, err, http.StatusConflict, "SETTLED")
}
