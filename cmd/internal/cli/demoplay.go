package cli

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/genai"

	"nightshift/jobs"
	"nightshift/limiter/gateway"
)

// demoPeople is how many ask a minute: a quiet end of the night, a morning, a day.
func demoPeople(at time.Duration) float64 {
	switch {
	case at < demoMorning:
		return 20
	case at < demoMorning+22*time.Second:
		return 150
	}
	return 50
}

// The provider is slow for a while in the morning: the time when bulk has to
// stand back altogether.
const (
	demoMorning  = 12 * time.Second
	demoSlowFrom = 19 * time.Second
	demoSlowTo   = 24 * time.Second
	demoSlowness = 9
)

// demoArm is what was measured of one way.
type demoArm struct {
	heard  []heard
	bulk   time.Duration
	calls  int
	wasted int
}

// demoResult is what the demo ends with.
type demoResult struct{ direct, gated demoArm }

// play lets both arms run side by side, with the same people, the same rows and
// the same weather at the provider.
func (o *demoOptions) play(ctx context.Context, b *backend, s *stage, gated, direct *demoAPI) (*demoResult, error) {
	people := arrivals(o.Seed, demoSpan, 150, demoPeople)
	ask, err := demoCaller(ctx, s.gateway, s.key)
	if err != nil {
		return nil, err
	}
	straight, err := newDirectArm(ctx, direct.url, demoModel)
	if err != nil {
		return nil, err
	}
	dir := b.conf.stateDir()
	run, err := b.enqueueDemo(ctx, dir)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r := &demoResult{}
	var all sync.WaitGroup
	all.Go(func() { slowDown(ctx, start, gated, direct) })
	all.Go(func() { r.gated.heard = people.play(ctx, start, ask) })
	all.Go(func() {
		r.direct.heard = people.play(ctx, start, func(ctx context.Context, i int) heard { return straight.ask(ctx, question(i)) })
	})
	all.Go(func() { r.direct.bulk = straight.bulk(ctx, demoPrompts(), b.conf.Worker.Concurrency) })
	r.gated.bulk, err = o.tellStory(ctx, b, gated, run, start)
	all.Wait()
	if err != nil || ctx.Err() != nil {
		return nil, firstError(ctx.Err(), err)
	}
	r.gated.calls, r.gated.wasted = gated.wasted()
	r.direct.calls, r.direct.wasted = direct.wasted()
	return r, nil
}

func question(i int) string { return fmt.Sprintf("Question %d: is the lamp in stock?", i) }

// demoKey is the chat's, made before the gateway looks whether anybody has one.
func (b *backend) demoKey(ctx context.Context) (string, error) {
	secret, _, err := gateway.NewKeys(b.rdb, nil).Add(ctx, gateway.Identity{Name: "chat", Project: b.conf.Gemini.Project, Class: "interactive", Feature: "chat"})
	return secret, err
}

// demoCaller is a chat behind the gateway: the SDK with another base URL.
func demoCaller(ctx context.Context, addr, secret string) (func(context.Context, int) heard, error) {
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: secret, Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{},
		HTTPOptions: genai.HTTPOptions{BaseURL: "http://" + addr + "/"},
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, i int) heard {
		_, err := c.Models.GenerateContent(ctx, demoModel, genai.Text(question(i)), nil)
		return heard{Failed: err != nil, Lost: err != nil}
	}, nil
}

func slowDown(ctx context.Context, start time.Time, apis ...*demoAPI) {
	for _, step := range []struct {
		at     time.Duration
		factor float64
	}{{demoSlowFrom, demoSlowness}, {demoSlowTo, 1}} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(start.Add(step.at))):
		}
		for _, a := range apis {
			a.SetSlow(step.factor)
		}
	}
}

// tellStory prints what happens while it happens, until the run has ended and
// the people have gone; it gives the time that the run took.
func (o *demoOptions) tellStory(ctx context.Context, b *backend, api *demoAPI, run jobs.Run, start time.Time) (took time.Duration, err error) {
	st := &story{o: o, api: api, b: b, run: run, start: start}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := st.look(ctx); err != nil {
			return took, err
		}
		if st.ended > 0 && time.Since(start) > demoSpan {
			return st.ended, nil
		}
		select {
		case <-ctx.Done():
			return took, ctx.Err()
		case <-tick.C:
		}
	}
}
