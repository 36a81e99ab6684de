package sim

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/scheduler"
)

// few is the part of people's calls that may fail without advice.
const few = 0.0003

// Advise says what the outcomes mean for those whose night it is. What it proposes it has
// played: the same night with that change. The error is that ctx is done.
func Advise(ctx context.Context, s *Scenario, all []*Outcome) (advice []string, err error) {
	ours := Find(all, OursLearned)
	if first := Find(all, Ours); ours == nil || first != nil && len(s.Traffic) == 0 {
		ours = first
	}
	if ours == nil {
		return []string{"nightshift itself was not played: nothing can be advised (--policy " + Ours + ")"}, nil
	}
	advice = slow(all)
	for _, part := range []func(context.Context, *Outcome) ([]string, error){s.binds, s.guarantee, s.refusals, s.rows} {
		says, err := part(ctx, ours)
		if err != nil {
			return nil, err
		}
		advice = append(advice, says...)
	}
	return advice, nil
}

// slow says that the provider by itself is so slow that bulk is held back for it.
func slow(all []*Outcome) []string {
	alone := Find(all, Alone)
	if alone == nil || alone.People.P95 < scheduler.DefaultThresholds.P95*9/10 {
		return nil
	}
	return []string{fmt.Sprintf("people wait %.1f s (p95) even without bulk, and above %.1f s bulk is held back for them: where that is usual, health.p95 has to be higher in the configuration, or provider.latency is too high here",
		alone.People.P95.Seconds(), scheduler.DefaultThresholds.P95.Seconds())}
}

// percent is a part of a limit, in words.
func percent(n, limit int64) float64 { return 100 * float64(n) / float64(max(1, limit)) }

// peak is the largest part of any limit that people asked for in a minute.
func (s *Scenario) peak(o *Outcome) (part float64, limit string) {
	if l := s.Limits.RPM; l > 0 {
		part, limit = percent(o.People.PeakRPM, l), "rpm"
	}
	if l := s.Limits.InputTPM; l > 0 && percent(o.People.PeakTPM, l) > part {
		part, limit = percent(o.People.PeakTPM, l), "input_tpm"
	}
	return part, limit
}

// Binding is the limit of which the busiest minute used the most, and its amount.
func (s *Scenario) Binding(o *Outcome) (name string, amount int64) {
	calls, tokens := percent(o.MostRPM, s.Limits.RPM), percent(o.MostTPM, s.Limits.InputTPM)
	if s.Limits.RPM == 0 || s.Limits.InputTPM > 0 && tokens > calls {
		return "input_tpm", s.Limits.InputTPM
	}
	return "rpm", s.Limits.RPM
}

// binds names the limit that is used up first.
func (s *Scenario) binds(_ context.Context, o *Outcome) ([]string, error) {
	if s.Limits.RPM == 0 || s.Limits.InputTPM == 0 || o.Bulk.Rows == 0 {
		return nil, nil
	}
	calls, tokens := percent(o.MostRPM, s.Limits.RPM), percent(o.MostTPM, s.Limits.InputTPM)
	if name, _ := s.Binding(o); name == "input_tpm" {
		return []string{fmt.Sprintf("input_tpm binds: its busiest minute had %.0f %% of it, and %.0f %% of the requests", tokens, calls)}, nil
	}
	return []string{fmt.Sprintf("rpm binds: its busiest minute had %.0f %% of it, and %.0f %% of input_tpm", calls, tokens)}, nil
}

// guarantee says which one would have been enough.
func (s *Scenario) guarantee(ctx context.Context, o *Outcome) ([]string, error) {
	part, limit := s.peak(o)
	at := s.classIndex("interactive")
	now := float64(s.classes()[at].GuaranteePPM) / 10_000
	if o.People.Calls == 0 || o.Bulk.Rows == 0 || part == 0 {
		return nil, nil
	}
	enough := 5 * math.Ceil(1.25*part/5)
	says := fmt.Sprintf("interactive peaks at %.0f %% of %s", part, limit)
	if enough >= 95 {
		return []string{says + ": more than any guarantee can keep free; ask for a higher limit"}, nil
	}
	if enough == now {
		return []string{fmt.Sprintf("%s: its guarantee of %.0f %% fits", says, now)}, nil
	}
	other := s.with("interactive", func(c *Class) { c.Guarantee = new(enough / 100) })
	tried, err := Run(ctx, other, o.Policy)
	if err != nil {
		return nil, err
	}
	switch {
	case enough < now && tried.People.Failed <= o.People.Failed:
		return []string{fmt.Sprintf("%s: a guarantee of %.0f %% would have been enough (it is %.0f %%); %s", says, enough, now, compared(o, tried))}, nil
	case enough > now && tried.People.Failed < o.People.Failed:
		return []string{fmt.Sprintf("%s: with a guarantee of %.0f %% (it is %.0f %%) %d of %d first tries fail instead of %d: nightshift quota set class/interactive guarantee=%.0f%%",
			says, enough, now, tried.People.Failed, tried.People.Calls, o.People.Failed, enough)}, nil
	}
	return []string{fmt.Sprintf("%s: another guarantee than its %.0f %% would not have been better", says, now)}, nil
}

// compared is how bulk fares otherwise.
func compared(was, is *Outcome) string {
	if was.Bulk.Finish > 0 && is.Bulk.Finish > 0 {
		d := (was.Bulk.Finish - is.Bulk.Finish).Round(time.Minute)
		switch {
		case d >= time.Minute:
			return fmt.Sprintf("bulk ends %d min earlier with it", int(d.Minutes()))
		case d <= -time.Minute:
			return fmt.Sprintf("bulk ends %d min later with it", int(-d.Minutes()))
		}
		return "bulk ends at the same time with it"
	}
	return fmt.Sprintf("bulk does %.0f rows a minute with it instead of %.0f", is.Bulk.PerMinute, was.Bulk.PerMinute)
}

// refusals says what helps people who were refused.
func (s *Scenario) refusals(ctx context.Context, o *Outcome) ([]string, error) {
	if o.People.FailedShare() <= few {
		return nil, nil
	}
	says := fmt.Sprintf("%s of %s first tries of people fail (%.2f %%)", humanize.Comma(int64(o.People.Failed)), humanize.Comma(int64(o.People.Calls)), 100*o.People.FailedShare())
	if o.People.Refused < o.People.Failed {
		return []string{says + ", some at the provider: its faults, or limits that are lower than configured; no setting of nightshift's mends that"}, nil
	}
	best, what := o, ""
	for _, try := range []struct {
		what   string
		change func(*Class)
	}{
		{"max_wait: 2s", func(c *Class) { c.MaxWait = new(2 * time.Second) }},
		{"floor: 0.2", func(c *Class) { c.Floor = new(0.2) }},
		{"floor: 0.3", func(c *Class) { c.Floor = new(0.3) }},
	} {
		tried, err := Run(ctx, s.with("interactive", try.change), o.Policy)
		if err != nil {
			return nil, err
		}
		if tried.People.Failed < best.People.Failed {
			best, what = tried, try.what
		}
		if best.People.FailedShare() <= few {
			break
		}
	}
	if what == "" {
		return []string{says + ": their spikes are larger than what any setting keeps free"}, nil
	}
	return []string{fmt.Sprintf("%s: with classes.interactive.%s it is %d; %s", says, what, best.People.Failed, compared(o, best))}, nil
}

// rows says what holds bulk up.
func (s *Scenario) rows(ctx context.Context, o *Outcome) (advice []string, err error) {
	if o.Bulk.Rows == 0 {
		return nil, nil
	}
	if left := o.Bulk.Rows - o.Bulk.Done - o.Bulk.Failed; left > 0 {
		more := time.Duration(float64(left) / max(1, o.Bulk.PerMinute) * float64(time.Minute)).Round(time.Minute)
		advice = append(advice, fmt.Sprintf("%d rows are left when the night ends; at its pace they take %s more", left, more))
	}
	if o.Used < 0.6 {
		other := *s
		other.Workers.Concurrency *= 2
		tried, err := Run(ctx, &other, o.Policy)
		if err != nil {
			return nil, err
		}
		if tried.Bulk.PerMinute > 1.1*o.Bulk.PerMinute {
			advice = append(advice, fmt.Sprintf("the fleet is too small: %d calls at once use %.0f %% of the limit; with worker.concurrency: %d %s",
				s.Workers.Processes*s.Workers.Concurrency, 100*o.Used, other.Workers.Concurrency, compared(o, tried)))
		}
	}
	if o.Bulk.Failed > 0 {
		advice = append(advice, fmt.Sprintf("%d rows failed: too large for the limit, or out of their %d attempts", o.Bulk.Failed, s.Workers.Attempts))
	}
	return advice, nil
}

// with is the scenario with a class changed.
func (s *Scenario) with(class string, change func(*Class)) *Scenario {
	other := *s
	other.Classes = map[string]Class{}
	for name, c := range s.Classes {
		other.Classes[name] = c
	}
	c := other.Classes[class]
	change(&c)
	other.Classes[class] = c
	return &other
}
