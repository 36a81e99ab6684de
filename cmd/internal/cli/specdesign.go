package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// designFlags are about what rows carry beside text, and what a template of YAML says.
type designFlags struct {
	Files string

	design jobs.Design // read; zero without a template of YAML
}

func (o *designFlags) addDesignFlags(fl *pflag.FlagSet) {
	fl.StringVar(&o.Files, "files", "", "the `FOLDER` of the files that rows name, for file: in a YAML template (default: the input's folder)")
}

// readDesign reads a template of YAML into the specification.
func (o *specOptions) readDesign(s *jobs.Spec) error {
	if s.Kind == jobs.Embed {
		return fmt.Errorf("--template %s: an embedding has one text: give a plain template, or --prompt", o.Template)
	}
	text, err := jobs.ReadText(o.Template)
	if err != nil {
		return invalid(fmt.Errorf("--template: %w", err))
	}
	d, err := jobs.ReadDesign(o.Template, text, readSchema)
	if err != nil {
		return invalid(fmt.Errorf("--template: %w", err))
	}
	if o.System != "" && (d.SystemLine > 0 || len(d.Outputs) > 0) {
		return fmt.Errorf("--system: %s says the system instruction: leave one of them out", o.Template)
	}
	o.design = d
	s.Template, s.System, s.Turns, s.Outputs = d.Template, d.System, d.Turns, d.Outputs
	return readText(&s.System, "--system", o.System)
}

func readSchema(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no file %s", path)
	}
	return b, err
}

// overDesign puts the flags' settings over those of the template of YAML, for each
// output.
func (o *specOptions) overDesign(s *jobs.Spec) error {
	flags := s.Settings
	s.Settings = flags.Over(o.design.Settings)
	for i := range s.Outputs {
		s.Outputs[i].Settings = flags.Over(s.Outputs[i].Settings)
	}
	if len(s.Outputs) > 0 {
		s.Settings = jobs.Settings{} // each output has all of its own
	}
	return nil
}

// templates fills in what Prepare wants to know of them.
func (o *specOptions) templates(p *jobs.PrepareOptions) {
	p.TemplateFile, p.SystemFile, p.Files = o.Template, o.System, o.Files
	p.TemplateLine, p.SystemLine = o.design.TemplateLine, o.design.SystemLine
	if jobs.IsDesign(o.Template) {
		p.SystemFile = cmp.Or(o.System, o.Template)
	}
}

// fileTokens is what a file of a row costs in input tokens.
func (b *batch) fileTokens(mime string, content []byte) int64 {
	return gemini.EstimateMedia(gemini.Model{Name: b.quota.model}, mime, content)
}

// namedModel settles the model of a batch file's lines: what they name, where a
// route or a limit knows it, else run.model where they name none.
func (b *batch) namedModel(c *loaded, spec jobs.Spec, now time.Time) func(string) (string, string, error) {
	return func(named string) (model, lane string, err error) {
		spec.Model = c.realModel(orElse(named, c.Run.Model))
		switch {
		case spec.Model == "":
			return "", "", usageErrorf("no model: the lines name none; give --model, or set run.model in %s", configName)
		case named != "" && spec.Model == named && !strings.Contains(named, "gemini"):
			return "", "", fmt.Errorf("the lines name the model %q, which is none of Gemini's: give --model, or say in %s which one answers for it: routes: {%s: MODEL}", named, configName, named)
		}
		err = b.goTo(c, &spec, now)
		return spec.Model, spec.Lane, err
	}
}

// weigh is what goes into a row's call, about; it counts in what the batch takes.
func (b *batch) weigh(r *jobs.Request) int64 {
	if r.Turns == nil && r.Body == nil {
		return b.texts.Add(r.Prompt, r.System)
	}
	n := b.texts.Add(slices.Collect(r.Texts())...)
	m := gemini.Model{Name: b.quota.model}
	var media int64
	if r.Body != nil {
		if got, err := new(gemini.Estimator).Ask(gemini.Ask{Method: "generateContent", Model: m, Body: r.Body}); err == nil {
			media = got.Input
		}
	}
	for f := range r.Files() {
		if f.Tokens == 0 && f.Data != nil { // of a data: URI
			f.Tokens = gemini.EstimateMedia(m, f.MIME, f.Data)
		}
		media += f.Tokens
	}
	b.texts.AddMedia(media)
	return n + media
}
