package cli

import "time"

// axisSteps are round distances between two times on a chart's axis.
var axisSteps = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day}

// times are the labels of a chart's axis, one a point: at most so many are not "", at
// round times of the zone's clock, and far enough from each other and from the edges to
// be read.
func (q reportQuota) times(z *time.Location, most int) []string {
	labels := make([]string, len(q.Points))
	if len(labels) < 2 {
		return labels
	}
	first, last := q.Points[0].At, q.Points[len(q.Points)-1].At
	step := axisSteps[len(axisSteps)-1]
	for _, s := range axisSteps {
		if last.Sub(first) <= s*time.Duration(most) {
			step = s
			break
		}
	}
	layout := "15:04"
	if step >= day {
		layout = "2 Jan"
	}
	edge := last.Sub(first) / time.Duration(4*most)
	for i, p := range q.Points[1:] {
		begins := sinceRound(q.Points[i].At.In(z), step) > sinceRound(p.At.In(z), step) || p.At.Sub(q.Points[i].At) >= step
		if begins && p.At.Sub(first) >= edge && last.Sub(p.At) >= edge {
			labels[i+1] = p.At.In(z).Format(layout)
		}
	}
	return labels
}

// tickLayout writes the times of an axis with so many labels, no two of them alike.
func tickLayout(span time.Duration, labels int) string {
	if span < time.Duration(labels-1)*time.Minute {
		return time.TimeOnly
	}
	return "15:04"
}

// sinceRound is how long ago the clock of a time had a multiple of the step.
func sinceRound(t time.Time, step time.Duration) time.Duration {
	_, offset := t.Zone()
	return (time.Duration(t.Unix()+int64(offset)) * time.Second) % step
}
