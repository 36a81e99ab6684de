package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"nightshift/limiter"
)

// Vertex says that the Gemini models of Vertex AI are called in the place of the
// Gemini API, on behalf of one Google Cloud project at one location. Paths are
// Vertex AI's own then, and those of the Gemini API are refused. The zero value is
// express mode, in which an API key says whose project it is.
//
// Its quotas are others than the Gemini API's for the same project, and each
// location has its own: lanes want another project name, or the location as region.
type Vertex struct {
	Project  string // the Google Cloud project's id, as it stands in paths; "" with Location for express mode
	Location string // "global", "us-central1", "eu", …
	// Token gives the access token that a call is made with; it is asked for each call
	// and keeps the token itself. Nil means that TransportConfig.APIKey is sent.
	Token func(context.Context) (string, error)
}

// multiRegions have hosts of another form (as the genai SDK has them).
var multiRegions = map[string]bool{"us": true, "eu": true}

// BaseURL is where the location's API is, or the Gemini API for nil.
func (v *Vertex) BaseURL() string {
	switch {
	case v == nil:
		return DefaultBaseURL
	case v.Location == "" || v.Location == "global":
		return "https://aiplatform.googleapis.com"
	case multiRegions[v.Location]:
		return "https://aiplatform." + v.Location + ".rep.googleapis.com"
	}
	return "https://" + v.Location + "-aiplatform.googleapis.com"
}

func (v *Vertex) check() error {
	switch {
	case v == nil:
	case (v.Project == "") != (v.Location == ""):
		return errors.New("Vertex: want both Project and Location, or neither for express mode")
	case v.Project != "" && !plainSegment(v.Project):
		return fmt.Errorf("Vertex.Project: %q is no project id", v.Project)
	case v.Location != "" && !plainSegment(v.Location):
		return fmt.Errorf("Vertex.Location: %q is no location", v.Location)
	case v.Project == "" && v.Token != nil:
		return errors.New("Vertex.Project: must be set where Token is; express mode is by API key")
	}
	return nil
}

// byToken says that calls are made with access tokens.
func (v *Vertex) byToken() bool { return v != nil && v.Token != nil }

// keyName stands for the credentials where they change by themselves: breakers that
// follow a refused key tell keys apart by it.
func (v *Vertex) keyName() string { return "vertex/" + v.Project + "/" + v.Location }

// plainSegment holds for project ids and locations: letters, digits, dashes, and the
// colon and dots of projects within a domain.
func plainSegment(s string) bool {
	return validName(strings.ReplaceAll(s, ":", "-"))
}

// tokenWait bounds how long a call waits for its access token: a metadata server
// that does not answer must not hold it for ever.
const tokenWait = 10 * time.Second

// authorize gets the call's access token, before a permit is asked for.
func (c *call) authorize() error {
	v := c.t.cfg.Vertex
	if !v.byToken() {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, tokenWait)
	defer cancel()
	token, err := v.Token(ctx)
	if err == nil && token == "" {
		err = errors.New("it is empty")
	}
	if err == nil {
		c.key = token
		return nil
	}
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	c.t.log.Error("there is no access token for Vertex AI", "error", clip(Redact(err.Error()), 300))
	return c.deny(limiter.ReasonCredentials, func(d *limiter.Denied) {
		d.RetryAfterMS, d.RetryAt = 10_000, c.t.cfg.Now().Add(10*time.Second)
		d.Detail = "there is no access token for Vertex AI: its credentials do not work, or whoever gives tokens cannot be reached"
	})
}

// setKey puts the provider's credentials into a request.
func (c *call) setKey(h http.Header) {
	if c.t.cfg.Vertex.byToken() {
		h.Set("Authorization", "Bearer "+c.key)
		return
	}
	h.Set("X-Goog-Api-Key", c.key)
}

// keyHash tells the call's credentials apart from others.
func (c *call) keyHash() string {
	if c.t.cfg.Vertex.byToken() {
		return keyHash(c.t.cfg.Key())
	}
	return keyHash(c.key)
}
