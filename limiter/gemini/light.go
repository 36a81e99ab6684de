package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// LightFunc is a service's own answer to a call, made without a model. An empty
// text is none.
type LightFunc func(context.Context, DegradeRequest) (text string, err error)

// LightCall is what a template of a light answer sees.
type LightCall struct {
	Class   string
	Feature string
	Tenant  string
	Model   string        // that was asked for
	Reason  string        // one of DegradeCauses
	Text    string        // the last content of the request
	Retry   time.Duration // until it is worth asking again; 0 when that is not known
}

var lightFuncs = template.FuncMap{
	"json":  func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	"cut":   cutText,
	"lower": strings.ToLower,
	"upper": strings.ToUpper,
	"trim":  strings.TrimSpace,
}

// cutText gives the first n characters.
func cutText(n int, s string) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// LightTemplate makes a light answer of a Go text/template over a LightCall,
// with the funcs json, cut, lower, upper and trim. It is tried once, so that a
// field that there is not is an error here and not at night.
func LightTemplate(name, text string) (LightFunc, error) {
	t, err := template.New(name).Funcs(lightFuncs).Parse(text)
	if err != nil {
		return nil, err
	}
	sample := LightCall{Class: "interactive", Feature: "chat", Tenant: "acme", Model: "gemini", Reason: string(CauseSpend), Text: "a question", Retry: time.Minute}
	if err := t.Execute(&strings.Builder{}, sample); err != nil {
		return nil, err
	}
	return func(_ context.Context, r DegradeRequest) (string, error) {
		var b strings.Builder
		if err := t.Execute(&b, lightCall(r)); err != nil {
			return "", fmt.Errorf("the light answer: %w", err)
		}
		return strings.TrimSpace(b.String()), nil
	}, nil
}

func lightCall(r DegradeRequest) LightCall {
	c := LightCall{
		Class: r.Caller.Class, Feature: r.Caller.Feature, Tenant: r.Caller.Path.Tenant, Model: r.Model.Name,
		Reason: string(r.Cause), Text: askedOf(r.Body).text(),
	}
	c.Retry = r.wait().Round(time.Second)
	return c
}
