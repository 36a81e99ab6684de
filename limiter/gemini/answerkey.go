package gemini

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// answerKey names a request among those of its tenant: two that may have
// different answers never share a key. It is made of the tenant, the API's
// version, the model's bucket, and all of the body but unkeyed. ok is false for
// a body that is not one JSON object.
func answerKey(r DegradeRequest) (key string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.UseNumber()
	var body map[string]any
	if dec.Decode(&body) != nil || dec.More() {
		return "", false
	}
	for _, name := range unkeyed {
		delete(body, name)
	}
	text, err := json.Marshal([]any{ownerOf(r), r.Version, r.Lane.String(), r.Model.Name, body}) // sorts the fields
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), true
}

// unkeyed are the fields that bear on how a request is served and billed, and
// not on what is answered. All else is in the key, fields of the future too.
var unkeyed = []string{"serviceTier", "service_tier", "labels", "model"}

// ownerOf is whose data it is. Callers without a tenant are told apart by key,
// since two keys may be two customers.
func ownerOf(r DegradeRequest) []string {
	p := r.Caller.Path
	return []string{p.Organization, p.Tenant, cmp.Or(p.Tenant, "key/"+p.Key)}
}
