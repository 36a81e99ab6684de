package cli

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed report.html.tmpl
var reportHTML string

var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

// htmlChart is a chart drawn for light and for dark pages, wide and narrow ones; the style
// sheet shows one.
type htmlChart struct {
	Caption string
	Drawn   []htmlDrawing
}

type htmlDrawing struct {
	Class string // of the style sheet
	SVG   template.HTML
}

type htmlCell struct {
	Text   string
	Number bool
}

type htmlSection struct {
	pageSection
	Head  []htmlCell
	Rows  [][]htmlCell
	Drawn []htmlChart
}

// html writes the page as one file that needs nothing else: all that comes from rows,
// models and people is escaped by the template.
func (p reportPage) html(w io.Writer, z *time.Location) error {
	sections := make([]htmlSection, 0, len(p.Sections))
	for _, s := range p.Sections {
		h, err := s.html(z)
		if err != nil {
			return err
		}
		sections = append(sections, h)
	}
	return reportTemplate.Execute(w, struct {
		reportPage
		Parts []htmlSection
	}{p, sections})
}

func (s pageSection) html(z *time.Location) (htmlSection, error) {
	h := htmlSection{pageSection: s}
	for _, c := range s.Charts {
		if len(c.Points) < leastPoints {
			h.Drawn = append(h.Drawn, htmlChart{Caption: c.caption(z)})
			continue
		}
		drawn, err := c.drawings(z)
		if err != nil {
			return h, fmt.Errorf("chart of %s: %w", c.Limit, err)
		}
		h.Drawn = append(h.Drawn, htmlChart{c.caption(z), drawn})
	}
	if s.Table != nil {
		h.Head = s.Table.cells(s.Table.head)
		for _, r := range s.Table.rows {
			h.Rows = append(h.Rows, s.Table.cells(r))
		}
	}
	return h, nil
}

// drawings are a chart as each page may want it.
func (q reportQuota) drawings(z *time.Location) (out []htmlDrawing, err error) {
	for _, d := range []struct {
		class string
		dark  bool
		shape chartShape
	}{{"light wide", false, chartWide}, {"dark wide", true, chartWide}, {"light narrow", false, chartNarrow}, {"dark narrow", true, chartNarrow}} {
		svg, err := q.svg(z, d.dark, d.shape)
		if err != nil {
			return nil, err
		}
		out = append(out, htmlDrawing{d.class, svg})
	}
	return out, nil
}

func (t *dataTable) cells(texts []string) []htmlCell {
	out := make([]htmlCell, len(texts))
	for i, s := range texts {
		out[i] = htmlCell{s, t.nums[i]}
	}
	return out
}
