package main

import (
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-analyze/charts"
)

// leave writes the table and the charts of a soak to the test's artifacts, and gives
// the table.
func (s *soak) leave() string {
	s.Helper()
	dir := s.ArtifactDir()
	table := s.table(tracksOf(s.warm()))
	s.must(os.WriteFile(filepath.Join(dir, "soak.md"), []byte(table), 0o600))
	page, err := s.page(table)
	s.must(err)
	s.must(os.WriteFile(filepath.Join(dir, "soak.html"), []byte(page), 0o600))
	return table
}

func (s *soak) table(tracks []track) string {
	var b strings.Builder
	d := &s.done
	fmt.Fprintf(&b, "%s at %d rpm: %d runs, %d rows ended (%d runs purged, %d cancelled, the others went by themselves), %d calls of people (%d refused), %d pages (%d not given)\n\n",
		s.samples[len(s.samples)-1].at.Round(1e9), soakRPM, d.runs, d.rows, d.purged, d.cancelled, d.asked.Load(), d.refused.Load(), d.pages.Load(), d.badPages.Load())
	b.WriteString("| of | what | median | grows by, an hour | at most | |\n|---|---|---|---|---|---|\n")
	for _, x := range tracks {
		held := "held"
		if x.grows() {
			held = "**grows**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", x.of, x.what, x.amount(x.level()), x.amount(x.slope()), x.amount(x.most()), held)
	}
	b.WriteString("\n| history | kept | keys | bytes | grows by, an hour |\n|---|---|---|---|---|\n")
	end := s.samples[len(s.samples)-1]
	for _, kind := range sortedKeys(histories) {
		x := track{what: redisMemory}
		for _, l := range s.warm() {
			x.at, x.v = append(x.at, l.at.Hours()), append(x.v, float64(l.keys[kind].bytes))
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", kind, histories[kind], end.keys[kind].n, x.amount(float64(end.keys[kind].bytes)), x.amount(x.slope()))
	}
	return b.String()
}

// amount is one of its figures, for people.
func (x track) amount(v float64) string {
	if strings.Contains(x.what, "memory") || x.what == "heap" {
		return fmt.Sprintf("%.2f MB", v/1e6)
	}
	return fmt.Sprintf("%.1f", v)
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// soakChart is one chart: a line for each name.
type soakChart struct {
	title string
	names []string
	lines [][]float64
}

// charts are of the whole time, the beginning too.
func (s *soak) charts() []soakChart {
	out := []soakChart{{title: "resident memory, MB"}, {title: "heap, MB"}, {title: "goroutines"}, {title: "file descriptors"}, {title: "Redis's memory, MB"}, {title: "keys in Redis, without histories"}}
	for i, p := range s.parts {
		out[0].add(s, p.name, func(l soakSample) float64 { return l.parts[i].rss / 1e6 })
		out[1].add(s, p.name, func(l soakSample) float64 { return l.parts[i].heap / 1e6 })
		out[2].add(s, p.name, func(l soakSample) float64 { return l.parts[i].goroutines })
		out[3].add(s, p.name, func(l soakSample) float64 { return l.parts[i].fd })
	}
	out[4].add(s, "histories", func(l soakSample) float64 { return l.ofHistories() / 1e6 })
	out[4].add(s, "all", func(l soakSample) float64 { return l.memory / 1e6 })
	out[5].add(s, "keys", func(l soakSample) (n float64) {
		for kind, k := range l.keys {
			if _, is := histories[kind]; !is {
				n += float64(k.n)
			}
		}
		return n
	})
	return out
}

func (c *soakChart) add(s *soak, name string, v func(soakSample) float64) {
	line := make([]float64, 0, len(s.samples))
	for _, l := range s.samples {
		line = append(line, v(l))
	}
	c.names, c.lines = append(c.names, name), append(c.lines, line)
}

func (c *soakChart) svg(labels []string) (template.HTML, error) {
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: 860, Height: 260})
	err := p.LineChart(charts.LineChartOption{
		SeriesList: charts.NewSeriesListLine(c.lines), Symbol: charts.Symbol{Shape: charts.SymbolNone}, LineStrokeWidth: 1, Padding: charts.NewBox(4, 4, 16, 4),
		Legend: charts.LegendOption{SeriesNames: c.names}, XAxis: charts.XAxisOption{Labels: labels, BoundaryGap: charts.Ptr(false), LabelCount: 8},
		YAxis: []charts.YAxisOption{{Min: charts.Ptr(0.0)}},
	})
	if err != nil {
		return "", err
	}
	b, err := p.Bytes()
	return template.HTML(b), err //nolint:gosec // drawn here from numbers alone
}

var soakPage = template.Must(template.New("").Parse("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Soak</title>\n<h1>Soak</h1>\n" +
	"{{range .Charts}}<h2>{{.Title}}</h2>\n{{.SVG}}\n{{end}}<pre>{{.Table}}</pre>\n"))

func (s *soak) page(table string) (string, error) {
	type drawn struct {
		Title string
		SVG   template.HTML
	}
	data := struct {
		Charts []drawn
		Table  string
	}{Table: table}
	labels := make([]string, 0, len(s.samples))
	for _, l := range s.samples {
		labels = append(labels, fmt.Sprintf("%.0f min", l.at.Minutes()))
	}
	for _, c := range s.charts() {
		svg, err := c.svg(labels)
		if err != nil {
			return "", err
		}
		data.Charts = append(data.Charts, drawn{c.title, svg})
	}
	var b strings.Builder
	err := soakPage.Execute(&b, data)
	return b.String(), err
}
