package cli

import (
	"context"
	"net"
	"net/http"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

// demoAPI is a simulated Gemini of one arm.
type demoAPI struct {
	*geminitest.Server
	url string
}

func startDemoAPI(ctx context.Context, seed uint64) (*demoAPI, error) {
	sim, err := geminitest.New(geminitest.Config{
		Seed: seed, Counting: geminitest.SlidingMinute,
		Models:  []geminitest.Model{{Name: demoModel, Limits: geminitest.Limits{RPM: demoRPM, InputTPM: 200_000}}},
		Latency: geminitest.Latency{Base: 500 * time.Millisecond, Sigma: 0.25},
	})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // until it is closed
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	return &demoAPI{Server: sim, url: "http://" + l.Addr().String()}, nil
}

// wasted counts the calls that came to nothing.
func (a *demoAPI) wasted() (all, wasted int) {
	for _, c := range a.Calls() {
		all++
		if c.Status != http.StatusOK {
			wasted++
		}
	}
	return all, wasted
}

// lately is how many calls a second of rows and of people began in the last d.
func (a *demoAPI) lately(now time.Time, d time.Duration) (rows, people float64) {
	for _, c := range a.Calls() {
		switch {
		case now.Sub(c.At) > d:
		case c.ID != "":
			rows += 1 / d.Seconds()
		default:
			people += 1 / d.Seconds()
		}
	}
	return rows, people
}
