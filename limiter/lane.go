package limiter

import (
	"cmp"
	"fmt"
	"strings"
)

// Scope is what shares one atomic state: a provider's project. All keys of a
// scope carry one hash tag, so one script may read and write all of them, on a
// Cluster too. Across scopes limits are sums, never one atomic count.
type Scope struct {
	Provider string `json:"provider"` // "gemini"
	Project  string `json:"project"`  // the name the operator gave the provider's project; never a key
}

// String is "provider/project".
func (s Scope) String() string { return s.Provider + "/" + s.Project }

// ProjectNode is the node that every call of the scope goes by, whatever its lane
// and path: "project/NAME". It has limits where the configuration names it.
func (s Scope) ProjectNode() string { return ProjectKind + "/" + s.Project }

// Lane is one quota pool of a provider. Aliases and variants of a model map to
// one bucket before they get here; Model is that bucket.
type Lane struct {
	Provider string `json:"provider"`
	Project  string `json:"project"`
	Region   string `json:"region"` // "global" where the provider has no regions
	Model    string `json:"model"`
}

// Scope is the lane's provider project.
func (l Lane) Scope() Scope { return Scope{Provider: l.Provider, Project: l.Project} }

// String is "provider/project/region/model", the form ParseLane reads. It names
// the lane in keys, logs and answers.
func (l Lane) String() string {
	return l.Provider + "/" + l.Project + "/" + cmp.Or(l.Region, "global") + "/" + l.Model
}

// ParseLane reads what Lane.String wrote.
func ParseLane(s string) (Lane, error) {
	p := strings.Split(s, "/")
	if len(p) != 4 || p[0] == "" || p[1] == "" || p[2] == "" || p[3] == "" {
		return Lane{}, fmt.Errorf("lane %q: want provider/project/region/model", s)
	}
	return Lane{Provider: p[0], Project: p[1], Region: p[2], Model: p[3]}, nil
}
