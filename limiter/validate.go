package limiter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxAmount bounds limits and amounts: what the scripts compute stays within
// the integers that a Lua number holds exactly.
const maxAmount = 1_000_000_000_000

// Unlimited is the amount of a limit that was taken away for a while: it counts,
// and refuses nothing that there is.
const Unlimited = maxAmount

// ConfigError names the field that is wrong and says what it may be.
type ConfigError struct{ Field, Problem string }

func (e *ConfigError) Error() string { return e.Field + ": " + e.Problem }

func wrong(field, format string, args ...any) error {
	return &ConfigError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Validate finds the first field that cannot be enforced, as a *ConfigError.
func (c Config) Validate() error {
	if err := checkName("scope.provider", c.Scope.Provider); err != nil {
		return err
	}
	if err := checkName("scope.project", c.Scope.Project); err != nil {
		return err
	}
	if err := checkClasses(c.Classes); err != nil {
		return err
	}
	if err := checkLanes(c.Scope, c.Lanes); err != nil {
		return err
	}
	if err := c.checkNodes(); err != nil {
		return err
	}
	if err := checkPPM("soft_ppm", c.SoftPPM, million); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		if err := checkWeight("weights["+name+"]", name, c.Weights[name]); err != nil {
			return err
		}
	}
	if _, err := time.LoadLocation(c.MonthTZ); err != nil {
		return wrong("month_tz", "%v", err)
	}
	if c.MonthTZ == "Local" {
		return wrong("month_tz", "Local is another zone on each host; want one by its name")
	}
	return nil
}

func checkName(field, s string) error {
	switch {
	case s == "":
		return wrong(field, "is empty")
	case strings.ContainsAny(s, "{}|#\n \t/"):
		return wrong(field, "%q has one of the characters {}|#/ or white space", s)
	}
	return nil
}

func checkClasses(classes []Class) error {
	if len(classes) == 0 || len(classes) > 12 {
		return wrong("classes", "%d of them; want 1 to 12", len(classes))
	}
	var guaranteed int64
	seen := map[string]bool{}
	for _, c := range classes {
		field := "classes[" + c.Name + "]."
		if err := checkName(field+"name", c.Name); err != nil {
			return err
		}
		if seen[c.Name] {
			return wrong(field+"name", "is there twice")
		}
		seen[c.Name] = true
		for _, p := range []struct {
			name string
			ppm  int64
		}{{"guarantee_ppm", c.GuaranteePPM}, {"floor_ppm", c.FloorPPM}, {"trickle_ppm", c.TricklePPM}, {"cap_ppm", c.CapPPM}, {"output_floor_ppm", c.OutputFloorPPM}} {
			if p.ppm < 0 || p.ppm > million {
				return wrong(field+p.name, "%d; want 0 to 1000000", p.ppm)
			}
		}
		if c.MaxWait < 0 {
			return wrong(field+"max_wait", "%s is negative", c.MaxWait)
		}
		guaranteed += max(c.GuaranteePPM, c.FloorPPM, c.OutputFloorPPM) + c.TricklePPM
	}
	if guaranteed > million {
		return wrong("classes", "guarantees and trickles add up to %s of a limit; want at most 100 %%", percent(guaranteed))
	}
	return nil
}

func checkLanes(scope Scope, lanes []LaneConfig) error {
	seen := map[string]bool{}
	for i, l := range lanes {
		field := fmt.Sprintf("lanes[%d].", i)
		if l.Lane.Scope() != scope {
			return wrong(field+"lane", "%s is not of scope %s", l.Lane, scope)
		}
		if l.Lane.Model == "" || strings.ContainsAny(l.Lane.Model+l.Lane.Region, "{}\n /") {
			return wrong(field+"lane.model", "%q cannot name a lane", l.Lane.Model)
		}
		if seen[l.Lane.String()] {
			return wrong(field+"lane", "%s is there twice", l.Lane)
		}
		seen[l.Lane.String()] = true
		if err := checkLimits(field+"limits", l.Limits); err != nil {
			return err
		}
		if len(l.Limits.List()) == 0 {
			return wrong(field+"limits", "%s has none", l.Lane)
		}
		if l.OutsidePPM < 0 || l.OutsidePPM >= million {
			return wrong(field+"outside_ppm", "%d; want 0 to 999999", l.OutsidePPM)
		}
		if err := checkLend(field+"lend", cmp.Or(l.Lend, "auto")); err != nil {
			return err
		}
	}
	return nil
}

func checkLimits(field string, l Limits) error {
	for _, s := range shorthands {
		if n := *s.field(&l); n < 0 || n > maxAmount {
			return wrong(field+"."+s.name, "%d; want 1 to %d, or 0 for no limit", n, int64(maxAmount))
		}
	}
	return nil
}

// check finds what cannot be decided about a request.
func (q Request) check() error {
	switch {
	case q.ID == "":
		return fmt.Errorf("limiter: request without an id")
	case strings.ContainsAny(q.Ticket, "\n"):
		return fmt.Errorf("limiter: ticket %q has a line break", q.Ticket)
	case strings.ContainsAny(q.Path.Organization+q.Path.Tenant+q.Path.Team+q.Path.Key+q.Path.Run+string(q.Path.Priority), "/|\n"):
		return fmt.Errorf("limiter: path %+v has one of the characters / | or a line break", q.Path)
	case strings.ContainsAny(q.Feature, "|\n"):
		return fmt.Errorf("limiter: feature %q has a | or a line break", q.Feature)
	case q.Wait > 0 && strings.ContainsAny(q.ID, "|\n"):
		return fmt.Errorf("limiter: id %q has a | or a line break", q.ID)
	case q.Wait > time.Hour:
		return fmt.Errorf("limiter: a wait in place of %s; want an hour at most", q.Wait)
	case q.Lease < 0:
		return fmt.Errorf("limiter: lease %s is negative", q.Lease)
	}
	return q.Amounts.check()
}

func (a Amounts) check() error {
	for u, n := range a {
		if n < 0 || n > maxAmount {
			return fmt.Errorf("limiter: %s of %d; want 0 to %d", Unit(u), n, int64(maxAmount))
		}
	}
	return nil
}

// charged is what a request takes: every call holds at least one slot.
func (q Request) charged() Amounts {
	a := q.Amounts
	a[Concurrency] = max(1, a[Concurrency])
	return a
}

func (q Request) lease() time.Duration {
	if q.Lease == 0 {
		return DefaultLease
	}
	return q.Lease
}
