package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nightshift/jobs"
)

// reportsDir is where `run` without a shared Redis leaves its reports.
func (l *loaded) reportsDir() string { return filepath.Join(l.stateDir(), "reports") }

// keptReports is how many of those there are; the oldest go.
const keptReports = 50

// keep writes the report for a later `report`, when its Redis has ended.
func (r *runReport) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := writeReport(filepath.Join(dir, r.Run.ID+".json"), "json", r); err != nil {
		return err
	}
	names := reportFiles(dir)
	for _, old := range names[:max(0, len(names)-keptReports)] {
		_ = os.Remove(old)
	}
	return nil
}

// reportFiles are in the order of their runs' ids, which is that of time.
func reportFiles(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	return names
}

// savedReport is the latest that was kept of a run: of any with "", else by its name,
// its id or the beginning of one.
func savedReport(dir, ref string) (*runReport, bool) {
	names := reportFiles(dir)
	for i := len(names) - 1; i >= 0; i-- {
		var r runReport
		b, err := os.ReadFile(names[i])
		if err != nil || json.Unmarshal(b, &r) != nil {
			continue
		}
		if ref == "" || strings.HasPrefix(r.Run.ID, ref) || r.Run.Spec.Name == ref {
			return &r, true
		}
	}
	return nil, false
}

// endReport is the report of a run that this process has just worked at; nil where it
// cannot be made: what was said before stands.
func (s *session) endReport(ctx context.Context, run jobs.Run, now time.Time) *runReport {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if fresh, err := s.store.Load(ctx, run.ID); err == nil {
		run = fresh
	}
	r, err := s.report(ctx, run, now)
	if err != nil {
		s.log.Warn("the run's report cannot be made", "run", run.ID, "err", err)
		return nil
	}
	if s.embedded != nil {
		if err := r.keep(s.conf.reportsDir()); err != nil {
			s.log.Warn("the run's report is not kept", "run", run.ID, "err", err)
		}
	}
	return r
}
