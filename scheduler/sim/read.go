package sim

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/goccy/go-yaml"
)

//go:embed scenarios/*.yaml
var scenarios embed.FS

// Names are those of the scenarios that come with the program.
func Names() []string {
	files, _ := scenarios.ReadDir("scenarios") // embedded
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Source is the file of a scenario that comes with the program.
func Source(name string) ([]byte, error) {
	b, err := scenarios.ReadFile(path.Join("scenarios", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no scenario %q comes with nightshift; there are %s", name, strings.Join(Names(), ", "))
	}
	return b, nil
}

// Read reads a scenario and checks it. The error is the parser's, with its place, or a
// *FieldError.
func Read(b []byte) (*Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalWithOptions(b, &s, yaml.Strict()); err != nil {
		return nil, named(b, err)
	}
	return &s, s.Check()
}

// named is the error with the field that it is of, where the parser tells no place: of a
// time that is none.
func named(file []byte, err error) error {
	if at := yaml.Error(nil); errors.As(err, &at) {
		return err
	}
	d, _ := mapstructure.NewDecoder(&mapstructure.DecoderConfig{ // its only error is a result that is no pointer
		Result: new(Scenario), TagName: "yaml", Squash: true, WeaklyTypedInput: true, DecodeHook: mapstructure.StringToTimeDurationHookFunc()})
	var values map[string]any
	if yaml.Unmarshal(file, &values) != nil {
		return err
	}
	if in := new(mapstructure.DecodeError); errors.As(d.Decode(values), &in) {
		return wrong(in.Name(), "%v; want a time, such as 30s", err)
	}
	return err
}

// Line is where the field, or what it should be in, stands in a file; 0 when nothing of it
// is there.
func (e *FieldError) Line(file []byte) int {
	for at := e.Path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		p, err := yaml.PathString("$." + at)
		if err != nil {
			continue
		}
		node, err := p.ReadNode(bytes.NewReader(file))
		if err == nil && node != nil {
			return node.GetToken().Position.Line
		}
	}
	return 0
}
