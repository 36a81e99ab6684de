package jobs

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// settingsFile is the settings of a template of YAML: what is wrong with one is said
// by its own name.
type settingsFile struct {
	Settings
	line int // at which they begin
}

// settingKinds are the settings by the names that they have in YAML.
var settingKinds, settingNames = func() (map[string]reflect.Kind, string) {
	kinds, names := map[string]reflect.Kind{}, []string{}
	for f := range reflect.TypeFor[Settings]().Fields() {
		name, t := f.Tag.Get("yaml"), f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name != "-" && name != "" {
			kinds[name], names = t.Kind(), append(names, name)
		}
	}
	return kinds, strings.Join(names, ", ")
}()

func (s *settingsFile) UnmarshalYAML(n ast.Node) error {
	m, ok := n.(*ast.MappingNode)
	if one, is := n.(*ast.MappingValueNode); is {
		m, ok = &ast.MappingNode{Values: []*ast.MappingValueNode{one}}, true
	}
	if !ok {
		return &yaml.SyntaxError{Message: "settings: want names with values, such as temperature: 0.2", Token: n.GetToken()}
	}
	for _, v := range m.Values {
		if fault := settingFault(v.Key.GetToken().Value, v.Value); fault != "" {
			return &yaml.SyntaxError{Message: "settings: " + fault, Token: v.Key.GetToken()}
		}
	}
	s.line = n.GetToken().Position.Line
	return yaml.NodeToValue(n, &s.Settings, yaml.Strict())
}

func settingFault(name string, v ast.Node) string {
	kind, known := settingKinds[name]
	switch {
	case !known && name == "response_schema":
		return "response_schema: write it as schema:, beside settings"
	case !known:
		return fmt.Sprintf("no setting is called %q; there are: %s", name, settingNames)
	}
	want := ""
	switch v.(type) {
	case *ast.NullNode, *ast.AnchorNode, *ast.AliasNode:
		return ""
	case *ast.IntegerNode:
		want = map[reflect.Kind]string{reflect.Slice: "a list"}[kind]
	case *ast.FloatNode:
		want = map[reflect.Kind]string{reflect.Int32: "a whole number", reflect.Slice: "a list"}[kind]
	case *ast.SequenceNode:
		want = map[reflect.Kind]string{reflect.Int32: "a whole number", reflect.Float32: "a number", reflect.String: "a text"}[kind]
	case *ast.StringNode, *ast.LiteralNode:
		want = map[reflect.Kind]string{reflect.Int32: "a whole number", reflect.Float32: "a number", reflect.Slice: "a list"}[kind]
	default:
		want = map[reflect.Kind]string{reflect.Int32: "a whole number", reflect.Float32: "a number", reflect.Slice: "a list"}[kind]
		if want == "" {
			want = "a text"
		}
	}
	if want == "" {
		return ""
	}
	return fmt.Sprintf("%s: want %s, not %s", name, want, strings.TrimSpace(v.String()))
}
