package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/genai"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// How many of each the load has. Features are drawn by each call anew.
const (
	soakTenants  = 40
	soakFeatures = 300
	soakRows     = 600 // a run
	soakAskEvery = 200 * time.Millisecond
)

// soakDone is what the load has done.
type soakDone struct {
	asked, refused, pages, badPages atomic.Int64
	runs, rows, purged, cancelled   int
	open                            []string // names of runs that are looked after
}

// beginLoad lets people come and somebody look at the dashboard, and has a first run.
func (s *soak) beginLoad() {
	ctx, cancel := context.WithCancel(context.Background())
	var clients []*genai.Client
	for i := range soakTenants {
		clients = append(clients, s.tenant(fmt.Sprintf("t%02d", i)))
	}
	asking := background(func() { s.askSteadily(ctx, clients) })
	looking := background(func() { s.lookAtPages(ctx) })
	s.stop = func() { cancel(); <-asking; <-looking }
	s.Cleanup(s.stop)
	s.tend()
	s.await("rows end", time.Minute, func() bool { return s.countsOf("soak-0001")[jobs.Done] > 0 })
	s.await("people are answered", time.Minute, func() bool { return s.done.asked.Load()-s.done.refused.Load() > 5 })
}

// tenant is the SDK with a key of a tenant, whose calls say their feature.
func (s *soak) tenant(name string) *genai.Client {
	secret, _, err := gateway.NewKeys(s.rdb, nil).Add(context.Background(),
		gateway.Identity{Name: name, Project: s.scope.Project, Class: "interactive", Path: limiter.Path{Tenant: name}})
	s.must(err)
	return s.sdk(s.gateway, secret)
}

func (s *soak) askSteadily(ctx context.Context, clients []*genai.Client) {
	rng := rand.New(rand.NewPCG(4, 2))
	for n := 0; ctx.Err() == nil; n++ {
		client, feature := clients[rng.IntN(len(clients))], fmt.Sprintf("f%03d", rng.IntN(soakFeatures))
		go s.ask(client, feature, n)
		select {
		case <-ctx.Done():
		case <-time.After(soakAskEvery):
		}
	}
}

func (s *soak) ask(client *genai.Client, feature string, n int) {
	conf := &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{Headers: http.Header{"X-Nightshift-Feature": {feature}}}}
	_, err := client.Models.GenerateContent(context.Background(), benchModel, genai.Text(fmt.Sprintf("id: chat-%06d\nIs it there?", n)), conf)
	s.done.asked.Add(1)
	if err != nil {
		s.done.refused.Add(1)
	}
}

// lookAtPages opens another page of the dashboard every two seconds.
func (s *soak) lookAtPages(ctx context.Context) {
	pages := []string{"/", "/history", "/who", "/runs", "/tenants", "/audit", "/live"}
	for n := 0; ctx.Err() == nil; n++ {
		s.lookAt(ctx, pages[n%len(pages)])
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// lookAt reads a page as somebody who leaves after two seconds: some never end.
func (s *soak) lookAt(ctx context.Context, page string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.dashboard+page, http.NoBody)
	if err != nil {
		panic(err)
	}
	s.done.pages.Add(1)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		if ctx.Err() == nil {
			s.done.badPages.Add(1)
			s.Logf("%s: %v", page, err)
		}
	}
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// tend has another run where few rows are open, and lets those go that have ended: by
// a purge at once, by one after their results were fetched, by cancelling them while
// they run, or by themselves with their time.
func (s *soak) tend() {
	for s.openRows() < soakRows {
		s.done.runs++
		name := fmt.Sprintf("soak-%04d", s.done.runs)
		s.enqueue(name, soakRows, []jobs.Priority{jobs.Normal, jobs.High, jobs.Low}[s.done.runs%3], func(int) string { return "one lamp" })
		s.done.open = append(s.done.open, name)
	}
	var open []string
	for i, name := range s.done.open {
		if !s.letGo(name, i == 0) {
			open = append(open, name)
		}
	}
	s.done.open = open
}

func (s *soak) openRows() (n int64) {
	for _, name := range s.done.open {
		n += s.countsOf(name).Open()
	}
	return n
}

// countsOf are a run's by its name; none of one that is gone.
func (s *soak) countsOf(name string) jobs.Counts {
	r, err := s.store.Find(context.Background(), name)
	if err != nil {
		return jobs.Counts{}
	}
	return s.counts(r.ID)
}

// letGo tells whether a run needs no more looking after.
func (s *soak) letGo(name string, oldest bool) bool {
	var number int
	_, _ = fmt.Sscanf(name, "soak-%d", &number)
	c := s.countsOf(name)
	if number%4 == 3 && oldest && c[jobs.Done] > soakRows/2 && c.Open() > 0 {
		s.run("cancel", name)
		s.done.cancelled++
		return false
	}
	if c.Open() > 0 {
		return false
	}
	s.done.rows += int(c.Total())
	switch number % 4 {
	case 1:
		s.run("purge", name, "--yes")
		s.done.purged++
	case 2:
		s.run("results", name, "-o", filepath.Join(s.dir, name+".jsonl"))
		s.run("purge", name, "--yes")
		s.done.purged++
	}
	return true
}

func (s *soak) run(args ...string) {
	if out, err := s.command(args...).CombinedOutput(); err != nil {
		s.Errorf("%v: %v\n%s", args, err, out)
	}
}
