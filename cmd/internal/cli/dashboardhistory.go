package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// asHistory is what `nightshift quota history` makes of the page's query.
func (b *backend) asHistory(q dashboard.HistoryQuery) *historyOptions {
	return &historyOptions{
		factory: b.asCommand(dashboard.Viewer{}, io.Discard).as("csv"), From: orElse(q.From, "6h"), To: q.To, By: orElse(q.By, "feature"), Unit: orElse(q.Unit, "rpm"),
		Model: q.Model, Class: q.Class, Feature: q.Feature, Tenant: q.Tenant, Top: 9,
	}
}

// problemOf is what is wrong with what was asked; "" for an error that is none of who
// asked.
func problemOf(err error) string {
	var usage *usageError
	if errors.As(err, &usage) {
		return strings.TrimPrefix(err.Error(), "--") // the page's fields have the flags' names
	}
	return ""
}

// readHistory gives the answer, or the problem with the question.
func (b *backend) readHistory(ctx context.Context, o *historyOptions) (*gemini.HistoryData, error) {
	q, err := o.query()
	if err != nil {
		return nil, err
	}
	if err := b.knowsModel(ctx, o.Model); err != nil {
		return nil, &usageError{err}
	}
	return gemini.NewHistory(b.rdb, b.conf.scope()).Read(ctx, q)
}

// dashboardHistory fills the page of the history.
func (b *backend) dashboardHistory(ctx context.Context, ask dashboard.HistoryQuery) (v dashboard.HistoryView, err error) {
	o := b.asHistory(ask)
	if v, err = b.historyChoices(ctx, o); err != nil {
		return v, err
	}
	d, err := b.readHistory(ctx, o)
	if v.Problem = problemOf(err); v.Problem != "" {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.From, v.To, v.Step = d.From, limiter.Earlier(d.To, o.now()), d.Step
	v.Empty = nothingIn(d)
	c := historyCharts{o: o, d: d, v: o.view(d)}
	v.Charts, v.Met = c.charts(), countsOf(c.v.Met)
	for _, m := range d.Missing {
		if m.To.Sub(m.From) >= time.Minute {
			v.Notes = append(v.Notes, fmt.Sprintf("Nothing is known of %s to %s: no process of the fleet was counting.", clock(m.From, o.now()), clock(m.To, o.now())))
		}
	}
	v.Command = "nightshift quota history" + space(shellWordOf(o.Model)) + fmt.Sprintf(" --from %s --by %s --unit %s", shellWord(o.From), o.By, o.Unit)
	v.Forecast, err = b.forecastView(ctx, o.Tenant, o.now())
	return v, err
}

func shellWordOf(s string) string {
	if s == "" {
		return ""
	}
	return shellWord(s)
}

// dashboardHistoryCSV writes all steps.
func (b *backend) dashboardHistoryCSV(ctx context.Context, ask dashboard.HistoryQuery, w io.Writer) error {
	o := b.asHistory(ask)
	o.Top = 1000
	d, err := b.readHistory(ctx, o)
	if problem := problemOf(err); problem != "" {
		return fmt.Errorf("%w: %s", dashboard.ErrBadQuery, problem)
	}
	if err != nil {
		return err
	}
	return o.view(d).csv(w, d)
}

// historyChoices is what the page's form offers.
func (b *backend) historyChoices(ctx context.Context, o *historyOptions) (v dashboard.HistoryView, err error) {
	v.Asked = dashboard.HistoryQuery{From: o.From, To: o.To, By: o.By, Unit: o.Unit, Model: o.Model, Class: o.Class, Feature: o.Feature, Tenant: o.Tenant}
	for _, g := range gemini.GroupsBy() {
		v.Bys = append(v.Bys, string(g))
	}
	for _, name := range gemini.AmountNames() {
		v.Units = append(v.Units, dashboard.ChoiceView{Value: name, Text: historyUnits[name]})
	}
	for _, c := range b.conf.classTable() {
		v.Classes = append(v.Classes, c.Name)
	}
	v.Models, err = b.models(ctx)
	return v, err
}

// models are those that have limits.
func (b *backend) models(ctx context.Context) (out []string, err error) {
	lanes, err := b.lim.Lanes(ctx)
	for _, l := range lanes {
		if !slices.Contains(out, l.Lane.Model) {
			out = append(out, l.Lane.Model)
		}
	}
	slices.Sort(out)
	return out, err
}

func (b *backend) forecastView(ctx context.Context, tenant string, now time.Time) (*dashboard.ForecastView, error) {
	f, err := b.spendForecast(ctx, tenant, now)
	if err != nil {
		return nil, err
	}
	return b.asForecastView(f), nil
}

func (b *backend) asForecastView(f gemini.SpendForecast) *dashboard.ForecastView {
	v := &dashboard.ForecastView{Month: f.Month, Spent: usd(f.Spent), Today: usd(f.Today), Expected: orElse(monthEnd(f), "not known yet"), Words: forecastWords(f), Zone: b.conf.spendZone().String()}
	if f.High > 0 {
		v.Low, v.High = usd(f.Low), usd(f.High)
	}
	return v
}

// countsOf are the causes of what calls met.
func countsOf(m historyMet) []dashboard.CountsView {
	list := func(title string, counts []gemini.Count, write func(int64) string) dashboard.CountsView {
		v := dashboard.CountsView{Title: title}
		for _, c := range counts[:min(len(counts), 12)] {
			v.Of = append(v.Of, dashboard.CountView{Name: c.Name, N: write(c.N)})
		}
		return v
	}
	slices.SortFunc(m.DegradedBy, func(a, b gemini.Count) int { return strings.Compare(a.Name, b.Name) })
	caches := dashboard.CountsView{Title: "What the caches saved"}
	if m.CachedTokens+m.CachedAnswers+m.ReusedRows > 0 {
		caches.Of = []dashboard.CountView{
			{Name: "input tokens that the provider had", N: fmt.Sprintf("%s of %s", number(m.CachedTokens), number(m.InputTokens))}, {Name: "money saved by that", N: usd(m.CacheSaved)},
			{Name: "kept answers given", N: number(m.CachedAnswers)}, {Name: "rows whose result was there", N: number(m.ReusedRows)},
		}
	}
	return []dashboard.CountsView{
		list("Refused or put back by us, by limit", m.Refused, number), list("Refused by the provider (429), by reason", m.ProviderBy, number),
		list("Came again after dispatch, sent back by", m.Retried, number), list("Fell back to another answer, for", m.DegradedBy, number),
		list("Waited in place, for", m.Waited, millis), list("Rows that ended had waited, for", m.RowsWaited, millis), caches,
	}
}

// historyCharts makes the page's charts of one answer.
type historyCharts struct {
	o *historyOptions
	d *gemini.HistoryData
	v *historyView
}

func (c historyCharts) charts() []dashboard.ChartView {
	out := []dashboard.ChartView{c.use(), c.met(), c.waits(), c.rowWaits(), c.estimates(), c.caches(), c.loans()}
	if c.o.Unit != "usd" {
		out = append(out, c.money())
	}
	return out
}

// chart is one with the answer's steps.
func (c historyCharts) chart(id, title, of string, m dashboard.Measure) dashboard.ChartView {
	return dashboard.ChartView{ID: id, Title: title, Of: of, Measure: m, From: c.d.From, Step: c.d.Step, Sum: true}
}

// line makes one of a function of each step; what is still to come, or was not
// counted, is not known.
func (c historyCharts) line(name string, points []gemini.UsageSample, of func(gemini.UsageSample) float64) dashboard.LineView {
	l := dashboard.LineView{Name: name, Values: make([]float64, len(points))}
	for i, p := range points {
		at := c.d.From.Add(time.Duration(i) * c.d.Step)
		if l.Values[i] = of(p); !c.counted(at) {
			l.Values[i] = math.NaN()
		}
	}
	return l
}

func (c historyCharts) counted(at time.Time) bool {
	end := at.Add(c.d.Step)
	return at.Before(c.d.Known) && !slices.ContainsFunc(c.d.Missing, func(m gemini.Interval) bool { return !at.Before(m.From) && !end.After(m.To) })
}

func measureOf(unit string) (dashboard.Measure, float64) {
	switch unit {
	case "usd", "cache_saved_usd":
		return dashboard.Dollars, 1e-6
	case "waited_ms", "rows_waited_ms":
		return dashboard.Seconds, 1e-3
	}
	return dashboard.Count, 1
}

// use is what was asked for, by group.
func (c historyCharts) use() dashboard.ChartView {
	m, per := measureOf(c.o.Unit)
	out := c.chart("use", "Use by "+c.o.By, c.v.unitWords(), m)
	out.Stack = len(c.d.Groups) > 1
	if perMinute(c.o.Unit) {
		per, out.Sum = per*time.Minute.Seconds()/c.d.Step.Seconds(), false
	}
	out.Lines = c.groups(c.o.Unit, per)
	if len(c.v.Groups) > 0 && c.v.Groups[0].Sum > 0 {
		g := c.v.Groups[0]
		out.Facts = append(out.Facts, fmt.Sprintf("%s has the largest part: %s, at most %s at %s.", orElse(g.Name, "(none)"), percent(g.Share), c.v.amount(g.Peak), clock(g.PeakAt, c.o.now())))
	}
	for _, l := range c.d.Levels {
		if l.Class == "" && l.Limit == c.o.Unit {
			out.Lines = append(out.Lines, c.level("limit in force", l.Points, func(p gemini.Level) int64 { return p.Effective }))
		}
	}
	return out
}

// groups are lines of a unit, with their sums.
func (c historyCharts) groups(unit string, per float64) (out []dashboard.LineView) {
	all := c.d.Total.Sum.Amount(unit)
	h := historyView{Unit: unit}
	for _, g := range c.d.Groups {
		l := c.line(orElse(g.Name, "(none)"), g.Points, func(p gemini.UsageSample) float64 { return per * float64(p.Amount(unit)) })
		l.Total, l.Share = h.amount(float64(g.Sum.Amount(unit))), percent(ratio(g.Sum.Amount(unit), all))
		out = append(out, l)
	}
	return out
}

// level is a line of limits or loans: what a look found holds until the next one.
func (c historyCharts) level(name string, points []gemini.Level, of func(gemini.Level) int64) dashboard.LineView {
	l := dashboard.LineView{Name: name, Whole: true, Values: make([]float64, len(points))}
	seen := -1
	for i, p := range points {
		if p != (gemini.Level{}) {
			seen = i
		}
		if l.Values[i] = math.NaN(); seen >= 0 && time.Duration(i-seen)*c.d.Step <= gemini.LookEvery {
			l.Values[i] = float64(of(points[seen]))
		}
	}
	return l
}

// takenBack is a count of each step, not what holds until the next look.
func (c historyCharts) takenBack(name string, points []gemini.Level) dashboard.LineView {
	l := dashboard.LineView{Name: name, Values: make([]float64, len(points))}
	for i, p := range points {
		if l.Values[i] = float64(p.Revoked); !c.counted(c.d.From.Add(time.Duration(i) * c.d.Step)) {
			l.Values[i] = math.NaN()
		}
	}
	return l
}

// met is what was refused, fell back, or came again.
func (c historyCharts) met() dashboard.ChartView {
	out := c.chart("met", "Refused, falling back, coming again", "calls and rows a step", dashboard.Count)
	amount := func(name string) func(gemini.UsageSample) int64 {
		return func(p gemini.UsageSample) int64 { return p.Amount(name) }
	}
	for _, x := range []struct {
		name string
		of   func(gemini.UsageSample) int64
	}{
		{"429s of the provider", amount("429")}, {"refused by our limiter", amount("refused")}, {"rows put back into the line", amount("queued")},
		{"fell back to another answer", amount("degraded")}, {"rows sent back by the provider", sentBack}, {"failures of the provider", amount("failed")},
	} {
		l := c.line(x.name, c.d.Total.Points, func(p gemini.UsageSample) float64 { return float64(x.of(p)) })
		l.Total = number(x.of(c.d.Total.Sum))
		out.Lines = append(out.Lines, l)
	}
	if binds := c.v.Met.Refused; len(binds) > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("What bound most often: %s (%s times).", binds[0].Name, number(binds[0].N)))
	}
	return out
}

// sentBack are the rows that came again for what the provider did: those that our own
// limiter sent back stand in the line of what was put back.
func sentBack(p gemini.UsageSample) (n int64) {
	for _, c := range p.Retried() {
		if c.Name != gemini.RetriedByUs {
			n += c.N
		}
	}
	return n
}

// waits is how long callers waited in place, by what for.
func (c historyCharts) waits() dashboard.ChartView {
	out := c.chart("waits", "Waiting in place", "time that callers waited in a step, by what for", dashboard.Seconds)
	out.Lines = c.causes(c.v.Met.Waited, gemini.UsageSample.WaitedFor)
	out.Stack = len(out.Lines) > 1
	return out
}

// rowWaits is how long rows had waited that ended, by what for.
func (c historyCharts) rowWaits() dashboard.ChartView {
	out := c.chart("rowwaits", "What rows waited for", "time that the rows which ended in a step had waited, from enqueue to permit", dashboard.Seconds)
	out.Lines = c.causes(c.v.Met.RowsWaited, gemini.UsageSample.RowsWaitedFor)
	out.Stack = len(out.Lines) > 1
	switch m := c.v.Met; {
	case m.RowsEnded > 0:
		out.Facts = append(out.Facts, rowWaitWords(m))
	case c.byTenant():
		out.Facts = append(out.Facts, "What rows waited is kept by feature, model and class, not by tenant.")
	}
	return out
}

func (c historyCharts) byTenant() bool {
	return c.o.By == string(gemini.GroupTenant) || c.o.Tenant != ""
}

// causes are lines of time waited, one for each cause, the most first.
func (c historyCharts) causes(all []gemini.Count, of func(gemini.UsageSample) []gemini.Count) (out []dashboard.LineView) {
	for _, cause := range all[:min(len(all), 10)] {
		l := c.line(cause.Name, c.d.Total.Points, func(p gemini.UsageSample) float64 { return float64(countNamed(of(p), cause.Name)) / 1e3 })
		l.Total = millis(cause.N)
		out = append(out, l)
	}
	return out
}

func countNamed(counts []gemini.Count, name string) int64 {
	for _, c := range counts {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

// estimates is how far what was charged before calls is from what they took.
func (c historyCharts) estimates() dashboard.ChartView {
	out := c.chart("estimates", "Estimates against usage", "charged before the call, more (+) or less (−) than it took", dashboard.Percent)
	out.Sum = false
	off := func(estimated, measured int64) float64 {
		if measured == 0 {
			return math.NaN()
		}
		return 100 * float64(estimated-measured) / float64(measured)
	}
	out.Lines = []dashboard.LineView{
		c.line("input", c.d.Total.Points, func(p gemini.UsageSample) float64 { return off(p.EstimatedInput, p.MeasuredInput) }),
		c.line("output", c.d.Total.Points, func(p gemini.UsageSample) float64 { return off(p.EstimatedOutput, p.MeasuredOutput) }),
	}
	if m := c.v.Met; m.Measured > 0 {
		out.Facts = append(out.Facts, fmt.Sprintf("Over all: input %s, output %s; too little was charged in %s and %s of %s answers.", offWords(m.InputError), offWords(m.OutputError),
			percent(m.UnderInput), percent(m.UnderOutput), number(m.Measured)))
	} else if c.byTenant() {
		out.Facts = append(out.Facts, "Estimates are kept by feature, model and class, not by tenant.")
	}
	return out
}

// offWords say how far estimates were off: of a very short use, how many times it.
func offWords(share float64) string {
	if share >= 9 {
		return "about " + number(int64(share+1.5)) + " times what was used"
	}
	return signed(share)
}

// caches is what they saved.
func (c historyCharts) caches() dashboard.ChartView {
	out := c.chart("caches", "Saved by the provider’s cache", "dollars a step", dashboard.Dollars)
	l := c.line("saved", c.d.Total.Points, func(p gemini.UsageSample) float64 { return float64(p.CacheSavedMicroUSD) / 1e6 })
	l.Total = usd(c.d.Total.Sum.CacheSavedMicroUSD)
	out.Lines = []dashboard.LineView{l}
	if words := c.v.Met.cacheWords(); words != "" {
		out.Facts = append(out.Facts, strings.ToUpper(words[:1])+words[1:]+".")
	}
	return out
}

// loans is who lent and who borrowed, and what was taken back.
func (c historyCharts) loans() dashboard.ChartView {
	unit := c.o.Unit
	if !perMinute(unit) {
		unit = "rpm"
	}
	out := c.chart("loans", "On loan", unit+" lent by a class, borrowed by a class, and taken back", dashboard.Count)
	out.Sum = false
	for _, s := range c.d.Levels {
		if s.Limit != unit || s.Class == "" {
			continue
		}
		lines := []dashboard.LineView{
			c.level(s.Class+" lent", s.Points, func(p gemini.Level) int64 { return p.Lent }),
			c.level(s.Class+" borrowed", s.Points, func(p gemini.Level) int64 { return p.Borrowed }),
			c.takenBack(s.Class+": taken back", s.Points),
		}
		for _, l := range lines {
			l.Whole = false
			if slices.ContainsFunc(l.Values, func(v float64) bool { return v > 0 }) {
				out.Lines = append(out.Lines, l)
			}
		}
	}
	for _, line := range c.v.loanLines() {
		out.Facts = append(out.Facts, strings.Join(strings.Fields(line), " "))
	}
	return out
}

// money is what it cost, by group.
func (c historyCharts) money() dashboard.ChartView {
	out := c.chart("money", "Cost by "+c.o.By, "dollars a step", dashboard.Dollars)
	out.Stack = len(c.d.Groups) > 1
	out.Lines = c.groups("usd", 1e-6)
	return out
}
