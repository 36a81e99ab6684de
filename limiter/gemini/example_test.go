package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// chat is a service that people wait for. It takes its permits from the limiter that
// bulk uses too.
type chat struct {
	gemini *genai.Client
	meter  *gemini.Meter
}

// settings are what the service is given.
type settings struct {
	Redis    redis.UniversalClient // the fleet's
	Key      string                // the project's Gemini key
	Registry prometheus.Registerer
	Base     http.RoundTripper // sends; nil but in tests
}

// newChat runs once, when the service starts.
func newChat(ctx context.Context, s settings) (*chat, error) {
	scope := limiter.Scope{Provider: "gemini", Project: "default"} // gemini.project of nightshift.yaml
	gate := limiter.NewRedis(s.Redis, scope, limiter.RedisOptions{})
	enforced, err := gate.Effective(ctx) // the fleet's limits, classes and waits
	if err != nil {
		return nil, err
	}
	cfg, err := gemini.TransportConfigOf(enforced)
	if err != nil {
		return nil, err
	}
	meter := gemini.NewMeter(s.Redis, scope, gemini.MeterOptions{Process: "chat"}) // so that the scheduler sees how people fare
	cfg.Gate, cfg.APIKey, cfg.Base = gate, s.Key, s.Base
	cfg.Records, cfg.Metrics = meter, gemini.NewMetrics(s.Registry)
	cfg.Degrade = gemini.DegradeFunc(later)
	transport, err := gemini.NewTransport(cfg)
	if err != nil {
		return nil, errors.Join(err, meter.Close())
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend:    genai.BackendGeminiAPI,
		APIKey:     "set-by-the-transport", // the SDK wants one; the real key never reaches it
		HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, errors.Join(err, meter.Close())
	}
	return &chat{gemini: client, meter: meter}, nil
}

// Close sends what was counted last; call it when the last answer is out.
func (c *chat) Close() error { return c.meter.Close() }

// as says on whose behalf the calls of a context are made.
func (c *chat) as(ctx context.Context, tenant string) context.Context {
	return gemini.WithCaller(ctx, gemini.Caller{
		Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: tenant},
		MaxWait: 300 * time.Millisecond, // instead of the class's own
	})
}

// answer asks the model, and says what to do when there is no answer.
func (c *chat) answer(ctx context.Context, question string) (string, error) {
	resp, err := c.gemini.Models.GenerateContent(ctx, model, genai.Text(question), nil)
	var denied *limiter.Denied
	var failed genai.APIError
	switch {
	case errors.As(err, &denied) && denied.Permanent: // too large, or a model without limits: no time helps
		return "", fmt.Errorf("not possible (%s): %w", denied.Reason, err)
	case errors.As(err, &denied): // no permit: nothing was sent; Limiter names the limit where it is one
		return "", fmt.Errorf("busy (%s), come back in %s", denied.Reason, max(denied.RetryAfter().Round(time.Second), time.Second))
	case errors.As(err, &failed): // the provider's own refusal
		return "", fmt.Errorf("the model answered %d", failed.Code)
	case err != nil:
		return "", err
	}
	return resp.Text(), nil
}

// stream hands the answer on as it comes.
func (c *chat) stream(ctx context.Context, question string, show func(string)) error {
	for part, err := range c.gemini.Models.GenerateContentStream(ctx, model, genai.Text(question), nil) {
		if err != nil {
			return err // a *limiter.Denied here too
		}
		show(part.Text())
	}
	return nil
}

// later is the service's own answer when money or quota is short: for its greetings
// only, all else is refused as it is.
func later(_ context.Context, r gemini.DegradeRequest) (a gemini.DegradedAnswer, ok bool, err error) {
	if r.Caller.Feature != "greeting" {
		return a, false, nil
	}
	return gemini.DegradedAnswer{Kind: gemini.DegradedLight, Text: "Good morning."}, true, nil
}
