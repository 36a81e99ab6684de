package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

type whoOptions struct {
	*factory
	From  string
	To    string
	Model string
}

func newQuotaWhoCmd(f *factory) *cobra.Command {
	o := &whoOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "who [--from 07:00 --to 09:00] [MODEL]",
		Short: "Rank who used the quota in an interval: the table that finds the culprit",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaWho(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.From, "from", "1h", "from when on: a `TIME` of day that has passed, a moment, or a time back; minutes are kept for 50 hours")
	cmd.Flags().StringVar(&o.To, "to", "", "until when (default: now)")
	f.addOutputFlag(cmd)
	return cmd
}

// interval reads --from and --to. A time of day for --to is the first one after
// --from, so that 22:00 to 07:00 is a night.
func interval(from, to string, now time.Time) (a, b time.Time, err error) {
	if a, err = past(from, now); err != nil {
		return a, b, usageErrorf("--from %s: %v", from, err)
	}
	if !a.Before(now) {
		return a, b, usageErrorf("--from %s: that is still to come", from)
	}
	if to == "" {
		return a, now, nil
	}
	if b, err = moment(to, a); err != nil {
		if b, err = past(to, now); err != nil {
			return a, b, usageErrorf("--to %s: %v", to, err)
		}
	}
	if d, isSpan := time.ParseDuration(to); isSpan == nil {
		b = now.Add(-d)
	}
	if b = earlier(b, now); !b.After(a) {
		return a, b, usageErrorf("--to %s: that is not after --from %s", to, from)
	}
	return a, b, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// userOfQuota is one line of quota who.
type userOfQuota struct {
	Feature       string  `json:"feature"`
	Class         string  `json:"class"`
	Requests      int64   `json:"requests"`
	RequestsShare float64 `json:"requests_share"` // of all requests of the interval
	Tokens        int64   `json:"tokens"`         // input tokens, which the minute's limit counts
	TokensShare   float64 `json:"tokens_share"`
	AvgRPM        float64 `json:"avg_rpm"`
	PeakRPM       int64   `json:"peak_rpm"`
	AvgTPM        float64 `json:"avg_tpm"`
	PeakTPM       int64   `json:"peak_tpm"`
	Provider429   int64   `json:"provider_429"`
	Refused       int64   `json:"refused"` // by us
	WouldRefuse   int64   `json:"would_refuse,omitempty"`
	P95MS         int64   `json:"p95_ms"` // of the answers; of the first token where calls are streamed
	MicroUSD      int64   `json:"micro_usd"`

	Degraded map[gemini.DegradeCause]int64 `json:"degraded,omitempty"` // calls that got another answer, by cause; refused or failed too
	sum      gemini.UsageSample
}

// whoTable adds samples up by feature and class, the largest user first.
func whoTable(samples []gemini.UsageSample, from, to time.Time) []*userOfQuota {
	type who struct{ feature, class string }
	users := map[who]*userOfQuota{}
	perMinute := map[who]map[time.Time][2]int64{}
	var requests, tokens int64
	for _, s := range samples {
		k := who{s.Feature, s.Class}
		if users[k] == nil {
			users[k] = &userOfQuota{Feature: s.Feature, Class: s.Class}
			perMinute[k] = map[time.Time][2]int64{}
		}
		users[k].sum.Merge(s)
		m := perMinute[k][s.At]
		perMinute[k][s.At] = [2]int64{m[0] + s.Requests, m[1] + s.InputTokens}
		requests, tokens = requests+s.Requests, tokens+s.InputTokens
	}
	for k, u := range users {
		for _, m := range perMinute[k] {
			u.PeakRPM, u.PeakTPM = max(u.PeakRPM, m[0]), max(u.PeakTPM, m[1])
		}
		u.fill(requests, tokens, to.Sub(from).Minutes())
	}
	return slices.SortedFunc(maps.Values(users), func(a, b *userOfQuota) int {
		return cmp.Or(cmp.Compare(max(b.RequestsShare, b.TokensShare), max(a.RequestsShare, a.TokensShare)), strings.Compare(a.Feature+a.Class, b.Feature+b.Class))
	})
}

func (u *userOfQuota) fill(requests, tokens int64, minutes float64) {
	s := u.sum
	u.Requests, u.Tokens = s.Requests, s.InputTokens
	u.RequestsShare, u.TokensShare = ratio(s.Requests, requests), ratio(s.InputTokens, tokens)
	u.AvgRPM, u.AvgTPM = float64(s.Requests)/max(minutes, 1), float64(s.InputTokens)/max(minutes, 1)
	u.Provider429, u.Refused, u.WouldRefuse, u.MicroUSD = s.Provider429, s.Refused, s.WouldRefuse, s.MicroUSD
	u.P95MS, u.Degraded = p95of(s).Milliseconds(), s.DegradedByCause()
}

// p95of is that of the calls that most were: whole answers, or streams.
func p95of(s gemini.UsageSample) time.Duration {
	if s.FirstToken.N() > s.Latency.N() {
		return s.FirstToken.Quantile(0.95)
	}
	return s.Latency.Quantile(0.95)
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func runQuotaWho(ctx context.Context, o *whoOptions) error {
	from, to, err := interval(o.From, o.To, o.now())
	if err != nil {
		return err
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	samples, err := gemini.ReadMeter(ctx, be.rdb, be.conf.scope(), gemini.StepMinute, from, to)
	if err != nil {
		return err
	}
	if o.Model != "" {
		samples = slices.DeleteFunc(samples, func(s gemini.UsageSample) bool { return !strings.EqualFold(s.Model, o.Model) })
	}
	users := whoTable(samples, from, to)
	if len(users) > 0 && o.opts.output == "table" {
		o.say("from %s to %s%s", clock(from, o.now()), clock(to, o.now()), ofModel(o.Model))
	}
	if len(users) == 0 {
		o.say("no calls from %s to %s%s", clock(from, o.now()), clock(to, o.now()), ofModel(o.Model))
	}
	if o.opts.output != "json" && len(users) == 0 {
		return nil
	}
	if err := o.printUsers(users); err != nil || o.opts.output == "json" {
		return err
	}
	printDegradedUsers(o.Out, users)
	return o.printFindings(ctx, be, samples, from, to)
}

func ofModel(model string) string {
	if model == "" {
		return ""
	}
	return " of " + model
}

func (o *whoOptions) printUsers(users []*userOfQuota) error {
	t := newTable("FEATURE", "CLASS", "REQUESTS", "SHARE", "IN TOKENS", "SHARE", "AVG RPM", "PEAK RPM", "AVG TPM", "PEAK TPM", "429S", "REFUSED", "P95").
		numeric(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	for _, u := range users {
		refused := humanize.Comma(u.Refused)
		if u.WouldRefuse > 0 {
			refused += fmt.Sprintf(" (%s only observed)", humanize.Comma(u.WouldRefuse))
		}
		t.row(u.Feature, u.Class, humanize.Comma(u.Requests), percent(u.RequestsShare), humanize.Comma(u.Tokens), percent(u.TokensShare),
			humanize.CommafWithDigits(u.AvgRPM, 1), humanize.Comma(u.PeakRPM), humanize.Comma(int64(u.AvgTPM)), humanize.Comma(u.PeakTPM),
			humanize.Comma(u.Provider429), refused, seconds(time.Duration(u.P95MS)*time.Millisecond))
	}
	return o.print(t, users)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}
