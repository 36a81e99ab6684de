package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

const (
	million     = 1_000_000
	longest     = 48 * time.Hour
	mostCalls   = 5_000_000  // of a night: more takes minutes
	mostTokens  = 10_000_000 // of a call: ten times what models take
	startLayout = "2006-01-02 15:04"
)

// FieldError is a value of a scenario that cannot be.
type FieldError struct {
	Path    string // "traffic[0].arrivals.rpm"
	Problem string // what is wrong, and what would be right
}

func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

func wrong(path, format string, a ...any) error { return &FieldError{path, fmt.Sprintf(format, a...)} }

// Check fills in what was left out and gives the first value that cannot be, as a
// *FieldError.
func (s *Scenario) Check() error {
	for _, check := range []func() error{s.checkTime, s.checkLimits, s.checkClasses, s.checkProvider, s.checkTraffic, s.checkBulk, s.checkWorkers, s.checkPolicies} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) checkTime() (err error) {
	s.Name, s.Zone, s.Start = cmp.Or(s.Name, "scenario"), cmp.Or(s.Zone, "UTC"), cmp.Or(s.Start, "2026-03-02 22:00")
	if s.zone, err = time.LoadLocation(s.Zone); err != nil || s.Zone == "Local" {
		return wrong("zone", "%q is no time zone such as Europe/Paris", s.Zone)
	}
	if s.start, err = time.ParseInLocation(startLayout, s.Start, s.zone); err != nil {
		return wrong("start", "%q; want a day and a time, as in \"2026-03-02 22:00\"", s.Start)
	}
	if s.Duration = cmp.Or(s.Duration, 8*time.Hour); s.Duration < time.Minute || s.Duration > longest {
		return wrong("duration", "%s; want 1m to %s", s.Duration, longest)
	}
	return nil
}

func (s *Scenario) checkLimits() error {
	if s.Limits.RPM <= 0 && s.Limits.InputTPM <= 0 {
		return wrong("limits", "give it rpm or input_tpm: without a limit nothing has to be shared")
	}
	l := s.Limits
	if err := limitsOK("limits", []string{"rpm", "input_tpm", "output_tpm", "rpd", "concurrency"}, l.RPM, l.InputTPM, l.OutputTPM, l.RPD, l.Concurrency); err != nil {
		return err
	}
	if s.Outside == nil {
		s.Outside = new(0.05)
	}
	s.Lend = cmp.Or(s.Lend, "auto")
	if !slices.Contains([]string{"auto", "now", "never"}, s.Lend) {
		return wrong("lend", "%q; want auto, now or never", s.Lend)
	}
	return shareOK("outside", s.Outside)
}

func shareOK(path string, v *float64) error {
	if v != nil && !(*v >= 0 && *v < 1) {
		return wrong(path, "%v; want a share from 0 to less than 1", *v)
	}
	return nil
}

func (s *Scenario) checkClasses() error {
	for _, name := range slices.Sorted(maps.Keys(s.Classes)) {
		c, at := s.Classes[name], "classes."+name
		if err := classOK(at, name); err != nil {
			return err
		}
		if err := cmp.Or(shareOK(at+".guarantee", c.Guarantee), shareOK(at+".floor", c.Floor)); err != nil {
			return err
		}
		if c.MaxWait != nil && *c.MaxWait < 0 {
			return wrong(at+".max_wait", "%s is negative", *c.MaxWait)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		kind, id, _ := strings.Cut(name, "/")
		if kind != "tenant" || id == "" {
			return wrong("nodes."+name, "want tenant/NAME, or tenant/* for each")
		}
		n := s.Nodes[name]
		if n == (NodeCap{}) {
			return wrong("nodes."+name, "give it rpm or input_tpm above zero")
		}
		if err := limitsOK("nodes."+name, []string{"rpm", "input_tpm"}, n.RPM, n.InputTPM); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Weights)) {
		if s.Weights[name] < 1 {
			return wrong("weights."+name, "%d; want 1 or more", s.Weights[name])
		}
	}
	return nil
}

func classOK(path, name string) error {
	var names []string
	for _, c := range limiter.DefaultClasses() {
		if c.Name == name {
			return nil
		}
		names = append(names, c.Name)
	}
	return wrong(path, "%q is no class; there are %s", name, strings.Join(names, ", "))
}

func (s *Scenario) checkBulk() error {
	for i := range s.Bulk {
		b, at := &s.Bulk[i], fmt.Sprintf("bulk[%d]", i)
		b.Class, b.Name, b.Priority = cmp.Or(b.Class, "bulk"), cmp.Or(b.Name, fmt.Sprintf("run-%d", i+1)), cmp.Or(b.Priority, limiter.Normal)
		if err := classOK(at+".class", b.Class); err != nil {
			return err
		}
		switch {
		case !s.classes()[s.classIndex(b.Class)].Tickets:
			return wrong(at+".class", "somebody waits for %s: it goes under traffic", b.Class)
		case b.Rows < 1 || b.Rows > mostCalls:
			return wrong(at+".rows", "%d; want 1 to %d", b.Rows, mostCalls)
		case b.At < 0 || b.At >= s.Duration:
			return wrong(at+".at", "%s; want 0 to less than duration, %s", b.At, s.Duration)
		case !slices.Contains([]limiter.Priority{limiter.High, limiter.Normal, limiter.Low}, b.Priority):
			return wrong(at+".priority", "%q; want high, normal or low", b.Priority)
		}
		if err := b.checkSize(at, Size{Tokens{Median: 750, Sigma: 0.2}, Tokens{Median: 150, Sigma: 0.4}}); err != nil {
			return err
		}
	}
	if len(s.Bulk) == 0 && len(s.Traffic) == 0 {
		return wrong("traffic", "nobody calls: give it traffic, bulk, or both")
	}
	return nil
}

func (s *Scenario) checkWorkers() error {
	w := &s.Workers
	w.Processes, w.Concurrency, w.Attempts = cmp.Or(w.Processes, 2), cmp.Or(w.Concurrency, 32), cmp.Or(w.Attempts, 5)
	names := []string{"processes", "concurrency", "attempts"}
	for i, n := range []int{w.Processes, w.Concurrency, w.Attempts} {
		if n < 1 || n > 10_000 {
			return wrong("workers."+names[i], "%d; want 1 to 10000", n)
		}
	}
	return nil
}

func (s *Scenario) checkPolicies() error {
	for i, name := range s.Policies {
		if !slices.Contains(PolicyNames(), name) {
			return wrong(fmt.Sprintf("policies[%d]", i), "%q; want some of %s", name, strings.Join(PolicyNames(), ", "))
		}
	}
	if len(s.Policies) == 0 {
		s.Policies = PolicyNames()
	}
	return nil
}

func (s *Scenario) classIndex(name string) int {
	return slices.IndexFunc(s.classes(), func(c limiter.Class) bool { return c.Name == name })
}

// classes is the default table with the scenario's changes.
func (s *Scenario) classes() []limiter.Class {
	all := limiter.DefaultClasses()
	for i := range all {
		c := s.Classes[all[i].Name]
		if c.Guarantee != nil {
			all[i].GuaranteePPM = int64(*c.Guarantee * million)
		}
		if c.Floor != nil {
			all[i].FloorPPM = int64(*c.Floor * million)
		}
		if c.MaxWait != nil {
			all[i].MaxWait = *c.MaxWait
		}
	}
	return all
}
