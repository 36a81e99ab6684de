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

// chartShape is a chart's size in pixels, and how many times of day it has at most.
type chartShape struct{ width, height, times int }

// A chart is drawn for screens and paper, and once more for telephones: a wide one that
// is made smaller there has letters that nobody can read.
var (
	chartWide   = chartShape{860, 240, 9}
	chartNarrow = chartShape{360, 210, 5}
)

// halfLabel is half as wide as a time of day in pixels: labels begin at their points, and
// are moved to stand below them.
const halfLabel = 17

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

// atZero has the least of all values at zero where it is between zero and one percent,
// which is not to be seen: the library begins an axis one below the least value, and
// would leave the zero that it is told for that.
func atZero(lines ...[]float64) {
	var least *float64
	for _, l := range lines {
		for i := range l {
			if least == nil || l[i] < *least {
				least = &l[i]
			}
		}
	}
	if least != nil && *least < 1 {
		*least = 0
	}
}

// svg draws what bulk used, and on top of it what people did, in percent of the limit.
func (q reportQuota) svg(z *time.Location, dark bool, s chartShape) (template.HTML, error) {
	bulk, people := make([]float64, 0, len(q.Points)), make([]float64, 0, len(q.Points))
	for _, p := range q.Points {
		bulk, people = append(bulk, 100*p.Bulk), append(people, 100*p.People)
	}
	atZero(bulk, people)
	labels := q.times(z, s.times)
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: s.width, Height: s.height, Theme: chartTheme(dark)})
	err := p.LineChart(charts.LineChartOption{
		SeriesList: charts.NewSeriesListLine([][]float64{bulk, people}), StackSeries: charts.Ptr(true), Symbol: charts.Symbol{Shape: charts.SymbolNone}, LineStrokeWidth: 1,
		Padding: charts.NewBox(4, 4, 16, 4),
		Legend:  charts.LegendOption{SeriesNames: []string{"bulk", "those who wait"}, Symbol: charts.SymbolSquare},
		XAxis:   charts.XAxisOption{Labels: labels, BoundaryGap: charts.Ptr(false), LabelCount: len(labels), LabelOffset: charts.OffsetInt{Left: -halfLabel}},
		YAxis: []charts.YAxisOption{{Min: charts.Ptr(0.0), Max: charts.Ptr(q.top(20)), LabelCount: int(q.top(20)/20) + 1,
			ValueFormatter: func(v float64) string { return fmt.Sprintf("%.0f %%", v) }}},
	})
	if err != nil {
		return "", err
	}
	b, err := p.Bytes()
	return template.HTML(b), err //nolint:gosec // drawn here from numbers and times alone
}
