package gemini

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nightshift/limiter"
)

// What a model takes and gives when the configuration does not say: the
// figures of the current Flash and Pro models
// (https://ai.google.dev/gemini-api/docs/models).
const (
	DefaultContext   = 1_048_576
	DefaultMaxOutput = 65_536
)

// Model is one quota bucket of the provider: the model that its limits are
// kept for, and every name that counts against it.
type Model struct {
	Name      string   // the bucket
	Aliases   []string // other names that the provider counts here ("-latest", "-customtools", …)
	Context   int64    // the most input tokens of one request; 0 means DefaultContext
	MaxOutput int64    // the most output tokens of one candidate, thinking included; 0 means DefaultMaxOutput
}

// LaneMap knows which lane a model's calls are counted in. It is fixed once made.
type LaneMap struct {
	project, region string
	models          map[string]Model // every normalized name and alias
	names           []string         // the buckets, sorted
}

// NewLaneMap maps the models of one provider project. The region is "global"
// when empty. Two models that claim the same name are an error.
func NewLaneMap(project, region string, models ...Model) (*LaneMap, error) {
	m := &LaneMap{project: project, region: cmp.Or(region, "global"), models: map[string]Model{}}
	if project == "" || strings.Contains(project, "/") {
		return nil, fmt.Errorf("project %q: want a name without slashes", project)
	}
	for _, model := range models {
		if err := m.add(model); err != nil {
			return nil, err
		}
	}
	slices.Sort(m.names)
	return m, nil
}

func (m *LaneMap) add(model Model) error {
	model.Name = NormalizeModel(model.Name)
	if !validModel(model.Name) {
		return fmt.Errorf("model %q: not a model name", model.Name)
	}
	model.Context = cmp.Or(model.Context, DefaultContext)
	model.MaxOutput = cmp.Or(model.MaxOutput, DefaultMaxOutput)
	for _, name := range append([]string{model.Name}, model.Aliases...) {
		name = NormalizeModel(name)
		if other, taken := m.models[name]; taken && other.Name != model.Name {
			return fmt.Errorf("model name %q belongs to %s and to %s", name, other.Name, model.Name)
		}
		m.models[name] = model
	}
	m.names = append(m.names, model.Name)
	return nil
}

// Lookup gives the lane that a model's calls are counted in, by any of its
// names, "models/" before it or not, in any case. An unconfigured model is an
// *UnknownModelError.
func (m *LaneMap) Lookup(name string) (limiter.Lane, Model, error) {
	model, ok := m.models[NormalizeModel(name)]
	if !ok {
		return limiter.Lane{}, Model{}, &UnknownModelError{Model: NormalizeModel(name), Project: m.project, Known: m.names}
	}
	return m.lane(model.Name), model, nil
}

// lookupOr is Lookup with the caller's own lane for a model that is not
// configured here. The lane must be of this project, since the key is.
func (m *LaneMap) lookupOr(name string, other limiter.Lane) (limiter.Lane, Model, error) {
	lane, model, err := m.Lookup(name)
	if err == nil || other.Model == "" || other.Scope() != m.lane("").Scope() {
		return lane, model, err
	}
	return other, Model{Name: NormalizeModel(name), Context: DefaultContext, MaxOutput: DefaultMaxOutput}, nil
}

// same says that two names are of one configured model.
func (m *LaneMap) same(a, b string) bool {
	one, ok := m.models[NormalizeModel(a)]
	other, known := m.models[NormalizeModel(b)]
	return ok && known && one.Name == other.Name
}

// Lanes gives every lane of the project, sorted by model.
func (m *LaneMap) Lanes() []limiter.Lane {
	lanes := make([]limiter.Lane, len(m.names))
	for i, name := range m.names {
		lanes[i] = m.lane(name)
	}
	return lanes
}

func (m *LaneMap) lane(model string) limiter.Lane {
	return limiter.Lane{Provider: "gemini", Project: m.project, Region: m.region, Model: strings.ReplaceAll(model, "/", ":")}
}

// NormalizeModel takes "models/" and case off a model's name, as the API does.
func NormalizeModel(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "models/")
}

// UnknownModelError says that no limits are configured for a model. It unwraps
// to a permanent *limiter.Denied with ReasonUnknownLane.
type UnknownModelError struct {
	Model   string
	Project string
	Known   []string // the models that are configured

	caller Caller // on whose behalf it was asked for, if that is known
}

// Error names what to add to the configuration.
func (e *UnknownModelError) Error() string {
	known := "none are configured"
	if len(e.Known) > 0 {
		known = "configured: " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("no limits for model %q in project %q (%s): add it to the configuration with its rpm, input_tpm and rpd, or as an alias of a model that shares its quota",
		e.Model, e.Project, known)
}

// Unwrap gives the refusal that callers act on.
func (e *UnknownModelError) Unwrap() error {
	return &limiter.Denied{
		Type: "quota_denied", Provider: "gemini", Project: e.Project, Model: e.Model,
		Class: e.caller.Class, Feature: e.caller.Feature, Path: e.caller.Path, TraceID: e.caller.TraceID,
		Reason: limiter.ReasonUnknownLane, Decision: limiter.RejectedLocally, Permanent: true, Detail: e.Error(),
	}
}
