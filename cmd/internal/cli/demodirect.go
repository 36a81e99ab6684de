package cli

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genai"
)

// directArm is what most programs do: the SDK straight to the API, with its
// exponential retry, bulk and chat side by side.
type directArm struct {
	client *genai.Client
	model  string
}

func newDirectArm(ctx context.Context, url, model string) (*directArm, error) {
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "direct", Backend: genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: firstTry{http.DefaultTransport}},
		HTTPOptions: genai.HTTPOptions{BaseURL: url + "/", RetryOptions: &genai.HTTPRetryOptions{}}, // the SDK's defaults: 5 tries, 1 s doubling
	})
	return &directArm{client: c, model: model}, err
}

// firstTry notes what the first of a call's tries was answered with.
type firstTry struct{ next http.RoundTripper }

type firstTryKey struct{}

func (f firstTry) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.next.RoundTrip(r)
	if first, ok := r.Context().Value(firstTryKey{}).(*atomic.Int64); ok {
		status := int64(-1)
		if err == nil {
			status = int64(resp.StatusCode)
		}
		first.CompareAndSwap(0, status)
	}
	return resp, err
}

// ask is one call with all its retries.
func (d *directArm) ask(ctx context.Context, prompt string) heard {
	var first atomic.Int64
	_, err := d.client.Models.GenerateContent(context.WithValue(ctx, firstTryKey{}, &first), d.model, genai.Text(prompt), nil)
	return heard{Failed: first.Load() != http.StatusOK, Lost: err != nil}
}

// bulk works through the rows with so many callers at once; a row whose retries
// are used up goes to the end of the list. It gives the time that it took.
func (d *directArm) bulk(ctx context.Context, prompts []string, callers int) time.Duration {
	began := time.Now()
	left := make(chan string, len(prompts))
	for _, p := range prompts {
		left <- p
	}
	var open atomic.Int64
	open.Store(int64(len(prompts)))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil && open.Load() > 0 {
				select {
				case p := <-left:
					if d.ask(ctx, p).Lost {
						left <- p
					} else {
						open.Add(-1)
					}
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
