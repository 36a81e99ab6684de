package worker

import (
	"cmp"
	"fmt"
)

// Disagree compares the limits that this worker was configured with to those of
// the rest of its project's fleet, and gives a line for each worker that has
// others: the limits that hold are those of whoever started last. Workers that
// do not say what they were configured with are passed over.
func (w WorkerInfo) Disagree(fleet []WorkerInfo) []string {
	var out []string
	for _, o := range fleet {
		if o.ID == w.ID || o.Limits == "" || w.Limits == "" || o.Limits == w.Limits || o.Project != w.Project {
			continue
		}
		out = append(out, fmt.Sprintf("worker %s (pid %d on %s, up since %s) was configured with other limits (%s) than this one (%s): the last to start decides; give all the same configuration",
			o.ID, o.PID, cmp.Or(o.Host, "an unknown host"), o.Started.Local().Format("15:04:05 MST"), revision(o.Limits), revision(w.Limits)))
	}
	return out
}

// revision is as much of a digest as people compare.
func revision(s string) string { return s[:min(len(s), 8)] }
