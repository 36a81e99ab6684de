package cli

import (
	"fmt"
	"strings"

	"nightshift/limiter"
)

// short are the few lines that stand at the end of a `run`: time and money against what
// was expected, what failed, and where to read more.
func (r *runReport) short() []string {
	line := "took " + limiter.Length(r.To.Sub(r.From))
	if r.Cost.Known && r.Cost.Calls > 0 {
		line += fmt.Sprintf(" and %s for %s", usd(r.Cost.MicroUSD), callsOf(r.Cost.Calls))
		if p := r.Planned; p != nil && p.Cost != nil && p.Rows > 0 {
			line += " (expected " + plannedUSD(*p) + ")"
		}
	}
	lines := []string{line}
	if causes := r.causeWords(); causes != "" {
		lines = append(lines, "no good answer: "+causes)
	}
	if waits := r.waitWords(); waits != "" {
		lines = append(lines, "rows waited "+waits)
	}
	return lines
}

// causeWords are the most frequent causes: "80 schema (row 17), 3 safety".
func (r *runReport) causeWords() string {
	var parts []string
	for i, c := range r.Failed {
		if i == mostSteps {
			parts = append(parts, fmt.Sprintf("%d of other causes", r.restOf(i)))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s (such as %s)", c.Rows, orElse(c.Cause, c.State), c.Example))
	}
	return strings.Join(parts, ", ")
}

// waitWords are the causes that took most: "71 % for quota, 20 % for the work window".
func (r *runReport) waitWords() string {
	var sum int64
	for _, w := range r.Waits {
		sum += w.MS
	}
	var parts []string
	for _, w := range r.Waits {
		if share := w.MS * 100 / max(sum, 1); share >= 10 && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%d %% %s", share, orElse(waitCauses[w.Cause], w.Cause)))
		}
	}
	return strings.Join(parts, ", ")
}
