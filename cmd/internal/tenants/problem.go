package tenants

import (
	"encoding/json"
	"net/http"
	"strings"
)

// problem is an error's body (RFC 9457).
type problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Errors []fieldFault `json:"errors,omitempty"`
}

// fieldFault is what is wrong with one field.
type fieldFault struct {
	Detail  string `json:"detail"`
	Pointer string `json:"pointer,omitempty"` // JSON Pointer into the body: "#/limits/rpm"
	// Parameter and Header name one of the query or of the headers, which have no Pointer.
	Parameter string `json:"parameter,omitempty"`
	Header    string `json:"header,omitempty"`
	Field     string `json:"field"` // any of them as people write it
}

func faultOf(f *FieldError) fieldFault {
	x := fieldFault{Detail: f.Why, Field: f.Field}
	switch f.in {
	case inQuery:
		x.Parameter = f.Field
	case inHeader:
		x.Header = f.Field
	default:
		x.Pointer = pointer(f.Field)
	}
	return x
}

func pointer(field string) string {
	return "#/" + strings.ReplaceAll(strings.NewReplacer("~", "~0", "/", "~1").Replace(field), ".", "/")
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// Problem answers with an error's body.
func Problem(w http.ResponseWriter, status int, detail string) {
	writeProblem(w, problem{Status: status, Detail: detail})
}

func (v *visit) problem(p problem) { writeProblem(v.w, p) }

func writeProblem(w http.ResponseWriter, p problem) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}
