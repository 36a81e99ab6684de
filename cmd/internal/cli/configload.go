package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"nightshift/limiter/gemini"
)

const (
	configName = "nightshift.yaml"
	envPrefix  = "NIGHTSHIFT_"
	// keySep joins the levels of a key inside koanf. Model names have dots and
	// nodes have slashes, so neither can serve.
	keySep = "\x1f"
)

// configError is a fault in what the user configured: exit code 6 in front of
// an input, 1 elsewhere, and always the place and what to do.
type configError struct{ msg string }

func (e *configError) Error() string { return e.msg }

func configErrorf(format string, a ...any) error { return &configError{fmt.Sprintf(format, a...)} }

// loaded is the configuration together with where each value came from.
type loaded struct {
	Config
	File    string            // path of the file, "" where there is none
	Sources map[string]string // key, levels joined by '.', → "default", file, variable or flag
	k       *koanf.Koanf
	book    *gemini.PriceBook // of spend.prices; nil without one
}

// loadConfig layers defaults, file, environment and flags; later ones win.
// path "" looks for nightshift.yaml in the working directory and does without.
func loadConfig(path string, environ []string, flags map[string]any) (*loaded, error) {
	l := &loaded{Sources: map[string]string{}, k: koanf.New(keySep)}
	if err := l.layer("default", dotted(defaults())); err != nil {
		return nil, err
	}
	file, values, err := readConfigFile(path)
	if err != nil {
		return nil, err
	}
	l.File = file
	if err := l.layer(file, values); err != nil {
		return nil, err
	}
	env, err := envValues(environ)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if err := l.layer("$"+name, env[name]); err != nil {
			return nil, err
		}
		if err := l.fill(new(Config)); err != nil {
			return nil, configErrorf("environment: %s: %v", name, err)
		}
	}
	for name, v := range flags {
		if err := l.layer("--"+flagName(name), dotted(map[string]any{name: v})); err != nil {
			return nil, err
		}
	}
	return l, l.decode()
}

// flagName turns a key that a flag sets into the flag's name: its last level, but for
// what --gemini sets.
func flagName(key string) string {
	if key == "gemini.api" || key == "gemini.base_url" {
		return "gemini"
	}
	return strings.ReplaceAll(key[strings.LastIndex(key, ".")+1:], "_", "-")
}

// layer puts values over what is there and notes their source.
func (l *loaded) layer(source string, values map[string]any) error {
	k := koanf.New(keySep)
	if err := k.Load(confmap.Provider(values, keySep), nil); err != nil {
		return err
	}
	for _, key := range k.Keys() {
		l.Sources[strings.ReplaceAll(key, keySep, ".")] = source
	}
	return l.k.Merge(k)
}

func (l *loaded) decode() error {
	if err := l.fill(&l.Config); err != nil {
		return configErrorf("configuration: %v", err)
	}
	return l.check()
}

// fill decodes the layers as they are now.
func (l *loaded) fill(c *Config) error {
	conf := koanf.UnmarshalConf{Tag: "yaml", DecoderConfig: &mapstructure.DecoderConfig{
		Result:           c,
		TagName:          "yaml",
		Squash:           true,
		ErrorUnused:      true,
		WeaklyTypedInput: true, // the environment gives strings
		DecodeHook:       mapstructure.StringToTimeDurationHookFunc(),
	}}
	err := l.k.UnmarshalWithConf("", c, conf)
	if wrong := new(mapstructure.DecodeError); errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", wrong.Name(), wrong.Unwrap())
	}
	return err
}

// readConfigFile reads the file twice: strictly into Config, whose errors name
// line and column, and as a map for the layers.
func readConfigFile(path string) (string, map[string]any, error) {
	name := path
	if name == "" {
		name = configName
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && path == "" {
		return "", nil, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, configErrorf("configuration: no file %s (`nightshift init` writes one)", name)
	}
	if err != nil {
		return "", nil, configErrorf("configuration: %v", err)
	}
	var c Config
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
		return "", nil, configErrorf("%s:\n%s\n`nightshift init --stdout` prints a file with every key explained", name, yamlFault(plainly(b, err)))
	}
	var values map[string]any
	if err := yaml.Unmarshal(b, &values); err != nil {
		return "", nil, configErrorf("%s: %v", name, err)
	}
	return filepath.Clean(name), values, nil
}

// yamlFault is a fault of a YAML file with the lines around it.
func yamlFault(err error) string {
	return strings.TrimSpace(gemini.Redact(yaml.FormatError(err, false, true)))
}

// plainly says what a value of the wrong kind should be, without words of Go; of one
// whose place the parser does not tell, it names the key.
func plainly(file []byte, err error) error {
	if kind := plainKind(err); kind != nil {
		return kind
	}
	if placed := yaml.Error(nil); errors.As(err, &placed) {
		return err
	}
	l := &loaded{k: koanf.New(keySep), Sources: map[string]string{}}
	var values map[string]any
	if e := yaml.Unmarshal(file, &values); e != nil || l.layer("file", values) != nil {
		return err
	}
	if e := l.fill(new(Config)); e != nil {
		return e
	}
	return err
}

// plainKind is plainly of a value of the wrong kind; nil where that is not what is wrong.
func plainKind(err error) error {
	if wrong := new(yaml.TypeError); errors.As(err, &wrong) && wrong.Token != nil {
		return &yaml.SyntaxError{Message: fmt.Sprintf("%q: want %s", wrong.Token.Value, kindWords(wrong.DstType)), Token: wrong.Token}
	}
	return nil
}

func kindWords(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return "another kind of value"
	case t == reflect.TypeFor[time.Duration]():
		return "a time, such as 30s"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct:
		return "keys with values"
	}
	return "a text"
}

// envValues gives the layer of each NIGHTSHIFT_ variable. An unknown one is an
// error: a misspelt setting that does nothing costs a night.
func envValues(environ []string) (map[string]map[string]any, error) {
	known := scalarKeys()
	out := map[string]map[string]any{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(ownVariables, name) || value == "" {
			continue // an empty variable is as good as none, as in most shells' scripts
		}
		key, ok := known[strings.TrimPrefix(name, envPrefix)]
		if !ok {
			return nil, configErrorf("environment: unknown variable %s%s (`nightshift config show` lists every key; its variable is %s and the key in capitals, with _ for each dot)",
				name, nearest(name, slices.Sorted(maps.Keys(prefixed(known)))), envPrefix)
		}
		out[name] = dotted(map[string]any{key: value})
	}
	return out, nil
}

// ownVariables are read elsewhere: they are no configuration keys.
var ownVariables = []string{envPrefix + "CONFIG"}

func prefixed(known map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range known {
		out[envPrefix+k] = v
	}
	return out
}

// scalarKeys maps the variable's name, without prefix, to the key it sets: all
// keys that are not inside a map.
func scalarKeys() map[string]string {
	out := map[string]string{}
	var walk func(t reflect.Type, path []string)
	walk = func(t reflect.Type, path []string) {
		for i := range t.NumField() {
			f := t.Field(i)
			at := append(slices.Clone(path), f.Tag.Get("yaml"))
			switch f.Type.Kind() {
			case reflect.Map, reflect.Slice:
			case reflect.Struct:
				if strings.HasSuffix(string(f.Tag), `,inline"`) {
					at = path
				}
				walk(f.Type, at)
			default:
				out[strings.ToUpper(strings.Join(at, "_"))] = strings.Join(at, ".")
			}
		}
	}
	walk(reflect.TypeFor[Config](), nil)
	return out
}

// dotted turns keys that are joined by '.' into nested maps.
func dotted(flat map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range flat {
		at := out
		parts := strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = v
	}
	return out
}
