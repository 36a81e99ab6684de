package cli

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"github.com/go-analyze/charts"
)

// The colours of a chart, chosen to stand on a light and on a dark page and to be told
// apart by people who do not see red and green: blue is bulk's, orange that of people.
var (
	chartBulk   = charts.ColorFromHex("#4c8bd6")
	chartPeople = charts.ColorFromHex("#e8912d")
)

func chartTheme(dark bool) charts.ColorPalette {
	ink, grid := charts.ColorFromHex("#444444"), charts.ColorFromHex("#dddddd")
	if dark {
		ink, grid = charts.ColorFromHex("#bbbbbb"), charts.ColorFromHex("#3a3f46")
	}
	return charts.MakeTheme(charts.ThemeOption{IsDarkMode: dark, AxisStrokeColor: grid, AxisSplitLineColor: grid, TextColor: ink,
		BackgroundColor: charts.ColorTransparent, SeriesColors: []charts.Color{chartBulk, chartPeople}})
}

// top is where a chart ends, in percent: a step above all use, and the limit at least.
func (q reportQuota) top(step float64) float64 {
	return max(100, math.Ceil(100*q.Peak/step)*step)
}

// svg draws what bulk used, and on top of it what people did, in percent of the limit.
func (q reportQuota) svg(z *time.Location, dark bool) (template.HTML, error) {
	bulk, people, labels := make([]float64, 0, len(q.Points)), make([]float64, 0, len(q.Points)), make([]string, 0, len(q.Points))
	for _, p := range q.Points {
		bulk, people = append(bulk, 100*p.Bulk), append(people, 100*p.People)
		labels = append(labels, p.At.In(z).Format("15:04"))
	}
	if len(bulk) == 1 {
		bulk, people, labels = append(bulk, bulk[0]), append(people, people[0]), append(labels, labels[0])
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 860, Height: 240, Theme: chartTheme(dark)})
	err := p.LineChart(charts.LineChartOption{
		SeriesList: charts.NewSeriesListLine([][]float64{bulk, people}), StackSeries: charts.Ptr(true), Symbol: charts.Symbol{Shape: charts.SymbolNone}, LineStrokeWidth: 1,
		Padding: charts.NewBox(4, 4, 16, 4),
		Legend:  charts.LegendOption{SeriesNames: []string{"bulk", "those who wait"}, Symbol: charts.SymbolSquare},
		XAxis:   charts.XAxisOption{Labels: labels, BoundaryGap: charts.Ptr(false), LabelCount: min(9, len(labels))},
		YAxis: []charts.YAxisOption{{Min: charts.Ptr(0.0), Max: charts.Ptr(q.top(20)), LabelCount: int(q.top(20)/20) + 1,
			ValueFormatter: func(v float64) string { return fmt.Sprintf("%.0f %%", v) }}},
	})
	if err != nil {
		return "", err
	}
	b, err := p.Bytes()
	return template.HTML(b), err //nolint:gosec // drawn here from numbers and times alone
}
