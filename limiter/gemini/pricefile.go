package gemini

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// priceFile is a price book as it is written. Numbers stay text until they are
// read exactly: no price goes through a float.
type priceFile struct {
	Unit    word                  `yaml:"unit"`
	Checked word                  `yaml:"checked"`
	Tiers   map[string]fileFactor `yaml:"tiers"`
	Models  []fileModel           `yaml:"models"`
}

type fileModel struct {
	Names   []word                `yaml:"names"`
	Source  string                `yaml:"source"`
	Context word                  `yaml:"context"`
	Most    word                  `yaml:"output_limit"`
	Tiers   map[string]fileFactor `yaml:"tiers"`
	Prices  []fileTariff          `yaml:"prices"`
}

type fileFactor struct {
	Input  word `yaml:"input"`
	Cached word `yaml:"cached"`
	Output word `yaml:"output"`
}

type fileTariff struct {
	From   word      `yaml:"from"`
	Until  word      `yaml:"until"`
	Amount filePrice `yaml:",inline"`
	Long   *fileLong `yaml:"long"`
}

type fileLong struct {
	Above  word      `yaml:"above"`
	Amount filePrice `yaml:",inline"`
}

type filePrice struct {
	Input       word `yaml:"input"`
	Cached      word `yaml:"cached"`
	Output      word `yaml:"output"`
	Audio       word `yaml:"audio"`
	Image       word `yaml:"image"`
	Video       word `yaml:"video"`
	CachedAudio word `yaml:"cached_audio"`
	CachedImage word `yaml:"cached_image"`
	CachedVideo word `yaml:"cached_video"`
	AudioOutput word `yaml:"audio_output"`
	ImageOutput word `yaml:"image_output"`
	VideoOutput word `yaml:"video_output"`
	Storage     word `yaml:"storage"`
	Search      word `yaml:"search"`
	SearchPer   word `yaml:"search_per"`
}

// word is a single value of the file as it is written, and its line.
type word struct {
	text string
	line int // 0: it is not there
}

// UnmarshalYAML keeps the value's text.
func (w *word) UnmarshalYAML(n ast.Node) error {
	if _, scalar := n.(ast.ScalarNode); !scalar {
		return errors.New("want a single value")
	}
	t := n.GetToken()
	w.text, w.line = strings.TrimSpace(t.Value), t.Position.Line
	return nil
}

func (w word) there() bool { return w.line > 0 }

// ReadPrices reads a price book. The file states its unit; unknown keys, prices
// that cannot be, a model named twice, and days that overlap or leave a gap are
// errors that name line, model and field, and say what to do.
func ReadPrices(r io.Reader) (*PriceBook, error) {
	var f priceFile
	if err := yaml.NewDecoder(r, yaml.Strict()).Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	p := &priceReader{book: &PriceBook{models: map[string]*modelPrices{}, tiers: map[string]Factor{}}}
	if err := p.file(f); err != nil {
		return nil, err
	}
	p.book.weigh()
	return p.book, nil
}

// priceReader makes a book of a file.
type priceReader struct {
	book   *PriceBook
	places int    // decimals that the unit allows
	model  string // the one at hand, for errors
}

// wrong names the place of a fault.
func (p *priceReader) wrong(line int, field, format string, args ...any) error {
	var at []string
	if line > 0 {
		at = append(at, fmt.Sprintf("line %d", line))
	}
	for _, s := range []string{p.model, field} {
		if s != "" {
			at = append(at, s)
		}
	}
	return fmt.Errorf("%s: %s", strings.Join(at, ": "), fmt.Sprintf(format, args...))
}

// units are the decimals of each unit: money is read to the micro-dollar.
var units = map[string]int{"usd_per_million_tokens": 6, "micro_usd_per_million_tokens": 0}

func (p *priceReader) file(f priceFile) (err error) {
	places, ok := units[f.Unit.text]
	switch {
	case !f.Unit.there():
		return p.wrong(0, "unit", "missing; say unit: usd_per_million_tokens for prices like 0.75, or micro_usd_per_million_tokens for ones like 750000")
	case !ok:
		return p.wrong(f.Unit.line, "unit", "%q; want usd_per_million_tokens or micro_usd_per_million_tokens", f.Unit.text)
	case len(f.Models) == 0 && len(f.Tiers) == 0:
		return p.wrong(0, "models", "missing; list at least one model with its prices")
	}
	p.places = places
	if p.book.checked, err = p.day("checked", f.Checked); err != nil {
		return err
	}
	if p.book.tiers, err = p.factors(f.Tiers); err != nil {
		return err
	}
	for _, m := range f.Models {
		if err := p.add(m); err != nil {
			return err
		}
	}
	return nil
}

func (p *priceReader) add(f fileModel) (err error) {
	p.model = ""
	if len(f.Names) == 0 {
		return p.wrong(f.line(), "names", "missing; a model of the file has no names")
	}
	p.model = f.Names[0].text
	m := &modelPrices{source: f.Source}
	if m.limits, err = p.limits(f); err != nil {
		return err
	}
	if m.tiers, err = p.factors(f.Tiers); err != nil {
		return err
	}
	if m.prices, err = p.tariffs(f); err != nil {
		return err
	}
	m.weigh()
	return p.name(m, f.Names)
}

func (p *priceReader) name(m *modelPrices, names []word) error {
	for _, w := range names {
		name := NormalizeModel(w.text)
		switch {
		case !validModel(name):
			return p.wrong(w.line, "names", "%q is not a model's name", w.text)
		case p.book.models[name] != nil:
			return p.wrong(w.line, "names", "%s has prices twice; keep one of them, its later prices go into the same list", name)
		}
		p.book.models[name] = m
	}
	return nil
}

// line is where a model without a name can be found.
func (f fileModel) line() int {
	for _, t := range f.Prices {
		if t.Amount.Input.there() {
			return t.Amount.Input.line
		}
	}
	return 0
}
