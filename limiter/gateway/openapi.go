package gateway

import (
	_ "embed"
	"net/http"
	"sync"

	"github.com/goccy/go-yaml"
)

const openAPIPath = "/openapi.json"

//go:embed openapi.yaml
var openAPISource []byte

// openAPIDocument describes what the gateway serves beside Gemini's own paths, as
// OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html) in JSON.
var openAPIDocument = sync.OnceValue(func() []byte {
	b, err := yaml.YAMLToJSON(openAPISource)
	if err != nil {
		panic(err) // our own file, which the tests read
	}
	return b
})

// openAPI needs no key: it says how to get one.
func (v *visit) openAPI() *apiError {
	if v.r.Method != http.MethodHead {
		if err := v.wants(http.MethodGet); err != nil {
			return err
		}
	}
	v.status = http.StatusOK
	h := v.w.Header()
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Access-Control-Allow-Origin", "*") // viewers of such documents run in browsers; it is no secret
	_, _ = v.w.Write(openAPIDocument())       // the client may have gone
	return nil
}
