package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
	"nightshift/worker"
)

// engine makes the calls: the worker over the one way to Gemini.
type engine struct {
	worker  *worker.Worker
	records *gemini.Recorder
	tokens  atomic.Int64 // of all results so far
	microUS atomic.Int64 // what they cost, where a price is known
}

// count adds a result's usage up, for the line beside the bar.
func (e *engine) count(r jobs.Result) {
	if r.Usage != nil {
		e.tokens.Add(r.Usage.Total)
	}
	if r.MicroUSD != nil {
		e.microUS.Add(*r.MicroUSD)
	}
}

// close writes the last call records down.
func (e *engine) close(log *slog.Logger) {
	if err := e.records.Close(); err != nil {
		log.Warn("the last call records could not be written", "err", err)
	}
}

// newEngine wires transport, client and worker; sink may be nil.
func (b *backend) newEngine(ctx context.Context, sink jobs.Sink) (*engine, error) {
	base, key, err := b.conf.provider()
	if err != nil {
		return nil, err
	}
	lanes, err := b.conf.laneMap()
	if err != nil {
		return nil, err
	}
	records, err := gemini.NewRecorder(orElse(b.conf.Records.Dir, filepath.Join(b.conf.stateDir(), "records")), b.conf.Records.Keep)
	if err != nil {
		return nil, err
	}
	transport, err := gemini.NewTransport(gemini.TransportConfig{
		Base: base, BaseURL: b.conf.Gemini.BaseURL, APIKey: key, Gate: b.lim, Lanes: lanes,
		Records: records, MaxWait: b.conf.maxWaits(), Logger: b.log,
	})
	if err != nil {
		return nil, firstError(err, records.Close())
	}
	e := &engine{records: records}
	e.worker, err = b.newWorker(ctx, transport, sink, e.count)
	if err != nil {
		return nil, firstError(err, records.Close())
	}
	return e, nil
}

func (b *backend) newWorker(ctx context.Context, transport *gemini.Transport, sink jobs.Sink, onResult func(jobs.Result)) (*worker.Worker, error) {
	client, err := gemini.NewClient(ctx, transport, b.conf.Gemini.BaseURL)
	if err != nil {
		return nil, err
	}
	spool, err := jobs.OpenSpool(filepath.Join(b.conf.stateDir(), "spool"))
	if err != nil {
		return nil, err
	}
	return worker.New(worker.Config{
		Redis: b.rdb, Store: b.store, Gate: b.lim, Client: client,
		Scope:       limiter.Scope{Provider: "gemini", Project: b.conf.Gemini.Project},
		Concurrency: b.conf.Worker.Concurrency,
		CallTimeout: b.conf.Worker.CallTimeout,
		Attempts:    b.conf.Worker.Attempts,
		KeyRemedy:   b.conf.keyRemedy(),
		Sink:        sink, Spool: spool, OnResult: onResult, Logger: b.log,
	})
}

// provider gives the way out and the key: the real API, or the simulated one in
// this process, which needs no key.
func (l *loaded) provider() (http.RoundTripper, string, error) {
	if l.Gemini.API == "simulated" {
		sim, err := geminitest.New(l.simulation())
		return sim, "simulated", err
	}
	key, err := l.apiKey()
	return nil, key, err
}

// apiKey reads the provider's key. It is never printed, not even in part.
func (l *loaded) apiKey() (string, error) {
	if file := l.Gemini.APIKeyFile; file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", configErrorf("gemini.api_key_file: %v", err)
		}
		if key := strings.TrimSpace(string(b)); key != "" {
			return key, checkKey(key, "gemini.api_key_file: "+file)
		}
		return "", configErrorf("gemini.api_key_file: %s is empty", file)
	}
	if key := strings.TrimSpace(os.Getenv(l.Gemini.APIKeyEnv)); key != "" {
		return key, checkKey(key, "the environment variable "+l.Gemini.APIKeyEnv)
	}
	return "", fmt.Errorf("no API key: put it in the environment variable %s (one is made at https://aistudio.google.com/apikey), "+
		"or name a file in gemini.api_key_file; --gemini simulated needs none", l.Gemini.APIKeyEnv)
}

// checkKey refuses what no header can carry: every call would fail by it. The
// key itself is not repeated.
func checkKey(key, where string) error {
	bad := strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if bad < 0 {
		return nil
	}
	return configErrorf("%s holds no API key: its character %d is a space, a line break or not ASCII; is there more than the key in it?",
		where, len([]rune(key[:bad]))+1)
}

// keyRemedy is what to do when the provider refuses the key.
func (l *loaded) keyRemedy() string {
	if file := l.Gemini.APIKeyFile; file != "" {
		return "put a working key into " + file + " and restart the worker"
	}
	return "put a working key into " + l.Gemini.APIKeyEnv + " and restart the worker"
}

// simulation is a simulated project with the limits that are configured, so
// that a 429 of it means what a 429 of the real one would mean.
func (l *loaded) simulation() geminitest.Config {
	c := geminitest.Config{
		Strict:  true,
		Latency: geminitest.Latency{Base: 300 * time.Millisecond, PerToken: 6 * time.Millisecond, Sigma: 0.3},
	}
	for name, m := range l.Models {
		for _, n := range append([]string{name}, m.Aliases...) {
			c.Models = append(c.Models, geminitest.Model{
				Name: n, Bucket: name, ContextTokens: m.ContextTokens, Embeds: strings.Contains(n, "embedding"),
				Limits: geminitest.Limits{RPM: m.RPM, InputTPM: m.InputTPM, RPD: m.RPD, Concurrency: m.Concurrency},
			})
		}
	}
	return c
}

// maxWaits is how long each class waits in place for a permit.
func (l *loaded) maxWaits() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, c := range l.classTable() {
		out[c.Name] = c.MaxWait
	}
	return out
}
