package cli

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/auth/credentials"

	"nightshift/limiter/gemini"
)

// VertexConfig says on whose behalf Vertex AI is called. Its location is gemini.region.
type VertexConfig struct {
	// Project is the Google Cloud project's id; without it Vertex AI is called in
	// express mode, by an API key.
	Project string `yaml:"project"`
	// Credentials is a JSON file of a service account, of workload identity or of gcloud;
	// default the Application Default Credentials.
	Credentials string `yaml:"credentials"`
}

const apiVertex = "vertex"

// cloudScope is what access tokens of Vertex AI are for
// (https://docs.cloud.google.com/vertex-ai/docs/authentication).
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// checkVertex refuses what would be passed over.
func (l *loaded) checkVertex() error {
	v := l.Gemini.Vertex
	switch {
	case l.Gemini.API != apiVertex && v != (VertexConfig{}):
		return fmt.Errorf("gemini.vertex: is set, and gemini.api is %q; want gemini.api: vertex", l.Gemini.API)
	case v.Project == "" && v.Credentials != "":
		return errors.New("gemini.vertex.project: must be set where credentials are; without both an API key says the project")
	case l.Gemini.API == apiVertex && v.Project == "" && l.Gemini.Region != "global":
		return fmt.Errorf("gemini.vertex.project: must be set to call region %q; without it Vertex AI chooses the region", l.Gemini.Region)
	}
	return nil
}

// vertexByToken says that Vertex AI is called with access tokens, which need no key.
func (l *loaded) vertexByToken() bool {
	return l.Gemini.API == apiVertex && l.Gemini.Vertex.Project != ""
}

// vertexPlace is where Vertex AI is called, without the tokens; nil when the Gemini
// API is.
func (l *loaded) vertexPlace() *gemini.Vertex {
	switch {
	case l.Gemini.API != apiVertex:
		return nil
	case l.Gemini.Vertex.Project == "":
		return &gemini.Vertex{}
	}
	return &gemini.Vertex{Project: l.Gemini.Vertex.Project, Location: l.Gemini.Region}
}

// vertex is vertexPlace with what gives the tokens.
func (l *loaded) vertex() (*gemini.Vertex, error) {
	v := l.vertexPlace()
	if !l.vertexByToken() {
		return v, nil
	}
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{
		Scopes:          []string{cloudScope},
		CredentialsFile: l.Gemini.Vertex.Credentials, //nolint:SA1019 // the operator's own file, of any kind that the library knows
	})
	if err != nil {
		return nil, configErrorf("gemini.vertex.credentials: %v; `gcloud auth application-default login` makes some, or name a file", err)
	}
	v.Token = func(ctx context.Context) (string, error) {
		token, err := creds.Token(ctx) // kept until shortly before it ends
		if err != nil {
			return "", err
		}
		return token.Value, nil
	}
	return v, nil
}

// apiURL is the one place that is called: what the configuration says, or where the
// location of Vertex AI is.
func (l *loaded) apiURL() string {
	if v := l.vertexPlace(); v != nil && l.Gemini.BaseURL == gemini.DefaultBaseURL {
		return v.BaseURL()
	}
	return l.Gemini.BaseURL
}
