package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// OutputField is the field in which a row's template sees the name of the output
// that it makes, in a run with outputs.
const OutputField = "output"

// Output is one of several answers that each row of the input is to have. It is a
// row of its own, with the id "id/NAME": with a state, a cost and a retry of its
// own.
type Output struct {
	Name     string         `json:"name"`
	Template string         `json:"template,omitempty"` // the prompt; or
	Turns    []TurnTemplate `json:"turns,omitempty"`    // the conversation
	System   string         `json:"system,omitempty"`
	Settings Settings       `json:"settings"` // all that hold for it, the run's own among them

	TemplateLine int `json:"-"` // of the file that it was read from, for errors
	SystemLine   int `json:"-"`
}

// OutputNames are the names of the run's outputs, none in a run without.
func (s Spec) OutputNames() []string {
	var names []string
	for _, o := range s.Outputs {
		names = append(names, o.Name)
	}
	return names
}

// SplitRow tells the id that a row of a run with outputs has without its output,
// and the output: rows of equal ids belong side by side. Without outputs the id is
// all there is.
func (s Spec) SplitRow(id string) (base, output string) {
	for _, o := range s.Outputs {
		if base, ok := strings.CutSuffix(id, "/"+o.Name); ok {
			return base, o.Name
		}
	}
	return id, ""
}

// axes are the run's matrix with its outputs as the last dimension.
func (s Spec) axes() []Axis {
	if len(s.Outputs) == 0 {
		return s.Matrix
	}
	return append(slices.Clip(s.Matrix), Axis{Name: OutputField, Values: s.OutputNames()})
}

// EachSettings are the settings of each of the run's outputs; of the run itself
// where it has none.
func (s Spec) EachSettings() []Settings {
	if len(s.Outputs) == 0 {
		return []Settings{s.Settings}
	}
	all := make([]Settings, len(s.Outputs))
	for i, o := range s.Outputs {
		all[i] = o.Settings
	}
	return all
}

// AsksJSON says that some answers of the run have to be JSON. A batch file's lines
// may each ask for it.
func (s Spec) AsksJSON() bool {
	return s.Lines != "" || slices.ContainsFunc(s.EachSettings(), Settings.AsksJSON)
}

// AsksJSON says that the answer has to be JSON.
func (s Settings) AsksJSON() bool {
	return len(s.ResponseSchema) > 0 || s.ResponseMIMEType == "application/json"
}

// HasSchema says that some answers of the run have to satisfy a schema.
func (s Spec) HasSchema() bool {
	return slices.ContainsFunc(s.EachSettings(), func(one Settings) bool { return len(one.ResponseSchema) > 0 })
}

// HasCap says that some answers of the run have a cap by its settings.
func (s Spec) HasCap() bool {
	return slices.ContainsFunc(s.EachSettings(), func(one Settings) bool { return one.MaxOutputTokens > 0 })
}

// MaxOutput is the most output tokens that an answer of the run may have by its
// settings; 0 where one is not capped, or the lines of a batch file say it each.
func (s Spec) MaxOutput() int32 {
	var most int32
	for _, one := range s.EachSettings() {
		if one.MaxOutputTokens <= 0 || s.Lines != "" {
			return 0
		}
		most = max(most, one.MaxOutputTokens)
	}
	return most
}

// checkOutputs refuses names that would make rows twice or ids that cannot be told
// apart.
func checkOutputs(s Spec) error {
	seen := map[string]bool{}
	for _, o := range s.Outputs {
		err := checkOutputName(o.Name)
		switch {
		case err != nil:
			return err
		case seen[o.Name]:
			return fmt.Errorf("two outputs have the name %q: give each its own", o.Name)
		}
		seen[o.Name] = true
	}
	for _, a := range s.Matrix {
		if len(s.Outputs) > 0 && a.Name == OutputField {
			return fmt.Errorf("a matrix has the name %q, under which templates see the name of their output: rename the matrix", a.Name)
		}
	}
	return nil
}

// maxOutputName keeps the ids of rows short.
const maxOutputName = 64

// checkOutputName wants what can stand in an id: letters, digits, '-', '_', '.'.
func checkOutputName(name string) error {
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
	switch {
	case name == "":
		return fmt.Errorf("an output has no name")
	case bad >= 0:
		return fmt.Errorf("an output's name may have letters, digits, '-', '_' and '.' in it: %.80q", name)
	case len(name) > maxOutputName:
		return fmt.Errorf("an output's name may have %d characters, this one has %d", maxOutputName, len(name))
	}
	return nil
}

// forms are what the run's rows are made by: one for each output, or the one of
// the run.
func (s Spec) forms() []Output {
	if len(s.Outputs) > 0 {
		return s.Outputs
	}
	return []Output{{Template: s.Template, Turns: s.Turns, System: s.System, Settings: s.Settings}}
}

// title is what errors call an output.
func (o Output) title(what string) string {
	if o.Name == "" {
		return what
	}
	return cmp.Or(what, "template") + " of output " + o.Name
}
