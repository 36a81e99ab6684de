package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

type whoOptions struct {
	*factory
	From  string
	To    string
	Model string
	By    string
}

func newQuotaWhoCmd(f *factory) *cobra.Command {
	o := &whoOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "who [--from 07:00 --to 09:00] [--by tenant] [MODEL]",
		Short: "Rank who used the quota in an interval: the table that finds the culprit",
		Long: "Ranks features, or tenants, and their classes by what they used of each limit, on average and in their largest\n" +
			"minute; and says who had the quota in the minutes in which people were refused or slow. Minutes are kept for two\n" +
			"days, steps of five minutes for seven.",
		Example: "  nightshift quota who --from 07:00 --to 09:00\n  nightshift quota who --by tenant --from 30m gemini-3.5-flash",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaWho(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.From, "from", "1h", "from when on: a `TIME` of day that has passed, a moment, or a time back")
	cmd.Flags().StringVar(&o.To, "to", "", "until when (default: now)")
	cmd.Flags().StringVar(&o.By, "by", "feature", "whom to rank, by `WHAT`: feature, class, tenant")
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
	if b = limiter.Earlier(b, now); !b.After(a) {
		return a, b, usageErrorf("--to %s: that is not after --from %s", to, from)
	}
	return a, b, nil
}

// userOfQuota is one line of quota who.
type userOfQuota struct {
	Feature       string  `json:"feature"` // or the tenant, with --by tenant
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
	Refused       int64   `json:"refused"`   // by us, for want of room or time, or a pause
	OwnLimit      int64   `json:"own_limit"` // by us, and not of Refused: by a limit of the caller's own
	WouldRefuse   int64   `json:"would_refuse,omitempty"`
	P95MS         int64   `json:"p95_ms"` // of the answers; of the first token where calls are streamed
	MicroUSD      int64   `json:"micro_usd"`

	Degraded map[gemini.DegradeCause]int64 `json:"degraded,omitempty"` // calls that got another answer, by cause; refused or failed too
	// Use is what was used of each unit: shares of all, and parts of the limit.
	Use []gemini.UnitUse `json:"use"`
	sum gemini.UsageSample
}

// whoTable adds samples of minutes up by feature and class, the largest user first.
func whoTable(samples []gemini.UsageSample, from, to time.Time) []*userOfQuota {
	q := gemini.WhoQuery{From: from, To: to}
	return rankedUsers(q.Rank(samples, samples, time.Minute, nil).Rows, to.Sub(from))
}

// rankedUsers makes lines of a ranking.
func rankedUsers(rows []gemini.WhoRow, span time.Duration) (out []*userOfQuota) {
	for _, r := range rows {
		u := &userOfQuota{Feature: r.Name, Class: r.Class, Use: r.Use, sum: r.Sum}
		u.fill(span.Minutes())
		out = append(out, u)
	}
	return out
}

func (u *userOfQuota) fill(minutes float64) {
	s, rpm, tpm := u.sum, useOf(u.Use, "rpm"), useOf(u.Use, "input_tpm")
	u.Requests, u.Tokens = s.Requests, s.InputTokens
	u.RequestsShare, u.TokensShare, u.PeakRPM, u.PeakTPM = millionths(rpm.Share), millionths(tpm.Share), rpm.Peak, tpm.Peak
	u.AvgRPM, u.AvgTPM = float64(s.Requests)/max(minutes, 1), float64(s.InputTokens)/max(minutes, 1)
	u.Provider429, u.Refused, u.OwnLimit, u.WouldRefuse, u.MicroUSD = s.Provider429, s.RefusedShared(), s.OwnLimit, s.WouldRefuse, s.MicroUSD
	u.P95MS, u.Degraded = p95of(s).Milliseconds(), s.DegradedByCause()
}

func millionths(n int64) float64 { return float64(n) / 1e6 }

// useOf finds one unit's.
func useOf(uses []gemini.UnitUse, unit string) gemini.UnitUse {
	for _, u := range uses {
		if u.Unit == unit {
			return u
		}
	}
	return gemini.UnitUse{Unit: unit}
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
	if err := oneOf("--by", o.By, "feature", "class", "tenant"); err != nil {
		return &usageError{err}
	}
	from, to, err := interval(o.From, o.To, o.now())
	if err != nil {
		return err
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	who, err := be.who(ctx, gemini.WhoQuery{From: from, To: to, By: gemini.GroupBy(o.By), Model: o.Model})
	if err != nil {
		return err
	}
	return o.printWho(ctx, be, who)
}

// who ranks the users of an interval, for the command and for the page.
func (b *backend) who(ctx context.Context, q gemini.WhoQuery) (*gemini.Who, error) {
	for _, c := range b.conf.classTable() {
		if !c.Pausable {
			q.Waiting = append(q.Waiting, c.Name)
		}
	}
	return gemini.NewHistory(b.rdb, b.conf.scope()).Who(ctx, q)
}

func (o *whoOptions) printWho(ctx context.Context, be *backend, who *gemini.Who) error {
	users := rankedUsers(who.Rows, who.To.Sub(who.From))
	span := fmt.Sprintf("from %s to %s%s", clock(who.From, o.now()), clock(who.To, o.now()), ofModel(o.Model))
	switch {
	case len(users) == 0:
		o.say("no calls %s", span)
		if o.opts.output != "json" {
			return nil
		}
	case o.opts.output == "table":
		o.say("%s", span)
	}
	if err := o.printUsers(users); err != nil || o.opts.output == "json" {
		return err
	}
	if o.opts.output == "table" {
		o.printParts(who)
		printDegradedUsers(o.Out, users)
	}
	return o.printFindings(ctx, be, who)
}

func ofModel(model string) string {
	if model == "" {
		return ""
	}
	return " of " + model
}

func (o *whoOptions) printUsers(users []*userOfQuota) error {
	t := newTable(strings.ToUpper(o.By), "CLASS", "REQUESTS", "SHARE", "IN TOKENS", "SHARE", "AVG RPM", "PEAK RPM", "AVG TPM", "PEAK TPM", "429S", "REFUSED", "OWN LIMIT", "P95").
		numeric(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	for _, u := range users {
		refused := humanize.Comma(u.Refused)
		if u.WouldRefuse > 0 {
			refused += fmt.Sprintf(" (%s only observed)", humanize.Comma(u.WouldRefuse))
		}
		t.row(orElse(u.Feature, "(none)"), u.Class, humanize.Comma(u.Requests), percent(u.RequestsShare), humanize.Comma(u.Tokens), percent(u.TokensShare),
			humanize.CommafWithDigits(u.AvgRPM, 1), humanize.Comma(u.PeakRPM), humanize.Comma(int64(u.AvgTPM)), humanize.Comma(u.PeakTPM),
			humanize.Comma(u.Provider429), refused, humanize.Comma(u.OwnLimit), seconds(time.Duration(u.P95MS)*time.Millisecond))
	}
	return o.print(t, users)
}

func percent(share float64) string { return limiter.Percent(share) }

func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}
