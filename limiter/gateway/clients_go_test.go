package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"google.golang.org/genai"
)

// goClient is the Go SDK, doing the tasks of the matrix. The SDK has no task
// "array": it always asks for events.
type goClient struct {
	*genai.Client
	ctx    context.Context
	plan   plan
	emit   func(line)
	client *http.Client
}

func runGo(ctx context.Context, p plan, emit func(line)) error {
	g := &goClient{ctx: ctx, plan: p, emit: emit}
	var err error
	if g.client, err = trusting(p.CA); err != nil {
		return err
	}
	if g.Client, err = g.at(p.Base, p.Key, ""); err != nil {
		return err
	}
	doTasks(p, g.tasks(), emit)
	return nil
}

func trusting(ca string) (*http.Client, error) {
	if ca == "" {
		return &http.Client{}, nil
	}
	b, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}, nil
}

// at is the SDK with nothing changed but where it calls and with which key.
func (g *goClient) at(base, key, version string) (*genai.Client, error) {
	return genai.NewClient(g.ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: g.client,
		HTTPOptions: genai.HTTPOptions{BaseURL: base, APIVersion: version},
	})
}

func (g *goClient) tasks() map[string]doer {
	p := g.plan
	return map[string]doer{
		"unary":   func() (result, error) { return g.unary(p.Base, p.Key, "") },
		"slash":   func() (result, error) { return g.unary(p.Base+"/", p.Key, "") },
		"v1":      func() (result, error) { return g.unary(p.Base, p.Key, "v1") },
		"chat":    g.chat,
		"stream":  func() (result, error) { return g.stream("stream", p.Model) },
		"slow":    func() (result, error) { return g.stream("slow", p.Model) },
		"flush":   func() (result, error) { return g.stream("flush", p.Stepped) },
		"midway":  func() (result, error) { return g.broken("midway", p.Midway) },
		"cut":     func() (result, error) { return g.broken("cut", p.Cut) },
		"abort":   g.abort,
		"embed":   func() (result, error) { return g.embed("embed") },
		"embeds":  func() (result, error) { return g.embed("embed", "unary") },
		"count":   g.count,
		"list":    g.list,
		"get":     g.get,
		"call":    g.call,
		"schema":  g.schema,
		"refused": func() (result, error) { return g.refused(g.ask(p.Refused, "refused")) },
		"broken":  func() (result, error) { return g.refused(g.ask(p.Broken, "broken")) },
		"quota": func() (result, error) {
			return g.refused(errors.Join(g.ask(p.Limited, "quota"), g.ask(p.Limited, "quota")))
		},
		"quotastream": func() (result, error) { return g.failing(g.stream("quotastream", p.Limited)) },
		"badkey":      func() (result, error) { return g.failing(g.unary(p.Base, p.BadKey, "")) },
		"doubled":     func() (result, error) { return g.failing(g.unary(p.Base+"/v1beta", p.Key, "")) },
		"unserved": func() (result, error) {
			_, err := g.Files.List(g.ctx, nil)
			return g.refused(err)
		},
	}
}

// failing is for what has to end in an error.
func (g *goClient) failing(_ result, err error) (result, error) { return g.refused(err) }

// refused is an error as the SDK gives it: an APIError, with the hint in its details.
func (g *goClient) refused(err error) (result, error) {
	var e genai.APIError
	if !errors.As(err, &e) {
		return result{}, fmt.Errorf("no APIError: %w", err)
	}
	return refusal(e.Code, e, &words{Type: "genai.APIError"}, e), nil
}

func (g *goClient) ask(model, task string) error {
	_, err := g.Models.GenerateContent(g.ctx, model, genai.Text(g.plan.Prompts[task]), nil)
	return err
}

func (g *goClient) unary(base, key, version string) (result, error) {
	c, err := g.at(base, key, version)
	if err != nil {
		return result{}, err
	}
	return said(c.Models.GenerateContent(g.ctx, g.plan.Model, genai.Text(g.plan.Prompts["unary"]), nil))
}

func said(r *genai.GenerateContentResponse, err error) (result, error) {
	if err != nil {
		return result{}, err
	}
	return result{sum: tokensOf(r, map[string]any{"text": r.Text()}), seen: r}, nil
}

// chat goes on from a turn with an image, with all that a chat usually sets.
func (g *goClient) chat() (result, error) {
	image, err := base64.StdEncoding.DecodeString(g.plan.Image)
	if err != nil {
		return result{}, err
	}
	temperature, topP, budget, timeout := float32(0.2), float32(0.9), int32(16), time.Minute
	prompts := g.plan.Prompts
	c, err := g.Chats.Create(g.ctx, g.plan.Model, &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(prompts["system"], genai.RoleUser),
		Temperature:       &temperature, TopP: &topP, MaxOutputTokens: 300, StopSequences: []string{"THE END"},
		SafetySettings: []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdBlockNone}},
		ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: &budget, IncludeThoughts: true},
		HTTPOptions:    &genai.HTTPOptions{Timeout: &timeout},
	}, []*genai.Content{
		genai.NewContentFromParts([]*genai.Part{genai.NewPartFromBytes(image, "image/png"), genai.NewPartFromText(prompts["turn"])}, genai.RoleUser),
		genai.NewContentFromText(prompts["said"], genai.RoleModel),
	})
	if err != nil {
		return result{}, err
	}
	return said(c.SendMessage(g.ctx, genai.Part{Text: prompts["chat"]}))
}
