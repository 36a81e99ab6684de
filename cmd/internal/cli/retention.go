package cli

import (
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
)

// RetentionConfig is how long runs are kept once they have ended. Absent times
// keep them until somebody purges them.
type RetentionConfig struct {
	Results string `yaml:"results"` // runs whose rows all have a good answer: 30d, 2w, 36h
	Failed  string `yaml:"failed"`  // runs with rows that have none, so that these can be looked at; at least as long. Default as results
	// Unfetched removes runs too whose results nobody has fetched or drained to files.
	Unfetched bool `yaml:"unfetched"`
}

// defaultReuse is how old an answer may be that a row takes over.
const defaultReuse = 30 * day

// reuse is how old answers may be, and whether they are taken over at all. The
// text was checked.
func (c *Config) reuse() (time.Duration, bool) {
	switch c.Reuse {
	case "":
		return defaultReuse, true
	case "off":
		return 0, false
	}
	d, err := parseDays(c.Reuse)
	return d, err == nil
}

// retention was checked.
func (c *Config) retention() jobs.Retention {
	r := jobs.Retention{Unfetched: c.Retention.Unfetched}
	r.Done, _ = parseDays(c.Retention.Results)
	if r.Failed, _ = parseDays(c.Retention.Failed); r.Failed < r.Done {
		r.Failed = r.Done
	}
	return r
}

func (c *Config) checkRetention() error {
	if c.Reuse != "" && c.Reuse != "off" {
		if _, err := parseDays(c.Reuse); err != nil {
			return fmt.Errorf("reuse: %w, or off", err)
		}
	}
	times := map[string]string{"retention.results": c.Retention.Results, "retention.failed": c.Retention.Failed}
	for _, key := range []string{"retention.results", "retention.failed"} {
		if times[key] == "" {
			continue
		}
		if _, err := parseDays(times[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	switch results, failed := c.Retention.Results, c.Retention.Failed; {
	case results == "" && failed != "":
		return fmt.Errorf("retention.failed: there is no retention.results: set how long other runs are kept")
	case failed != "" && c.retention().Failed > c.retention().Done:
		return nil
	case failed != "" && failed != results:
		return fmt.Errorf("retention.failed: %s is less than retention.results (%s)", failed, results)
	}
	return nil
}

// keptWords says how long a run that has ended is kept; "" for one that has not.
func (b *backend) keptWords(ctx context.Context, run jobs.Run, c jobs.Counts, now time.Time) (string, *time.Time, error) {
	k, err := b.store.Kept(ctx, run, c, b.conf.retention())
	if err != nil || k.Open {
		return "", nil, err
	}
	if k.Forever {
		return "until it is purged", nil, nil
	}
	why := "retention in the configuration"
	if run.Spec.Steer.Keep > 0 {
		why = "its own " + days(run.Spec.Steer.Keep)
	}
	return fmt.Sprintf("until %s (%s)", clock(k.Until, now), why), &k.Until, nil
}

// keptUntil says of a run that has ended when it is removed, in the list of runs.
func (b *backend) keptUntil(ctx context.Context, run jobs.Run, s *runStatus) error {
	k, err := b.store.Kept(ctx, run, s.counts, b.conf.retention())
	if err == nil && !k.Open && !k.Forever {
		s.Kept = &k.Until
	}
	return err
}
