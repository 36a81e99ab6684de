package cli

import (
	"time"

	"nightshift/jobs"
)

// answerCaps is how long the answers of rows may get, each by its own cap or by what
// the model gives.
type answerCaps struct {
	model int64 // the model's longest answer in tokens; 0: not known
	sum   int64 // of all rows
	most  int64 // of one
}

func (c *answerCaps) add(s *jobs.Settings) {
	n := c.model
	if s != nil && s.MaxOutputTokens > 0 && (n == 0 || int64(s.MaxOutputTokens) < n) {
		n = int64(s.MaxOutputTokens)
	}
	c.sum += n
	c.most = max(c.most, n)
}

// ofLines says that the rows can only be lines of a batch file.
func ofLines(s jobs.Spec) bool {
	return s.Template == "" && len(s.Turns) == 0 && len(s.Outputs) == 0
}

// linesTooDear is tooDear and cannotCap for a batch file, whose lines say how long
// their answers may get: the longest counts.
func (b *batch) linesTooDear(c *loaded, now time.Time) error {
	s := b.Spec
	s.Lines, s.Settings.MaxOutputTokens = "", int32(b.caps.most)
	return firstError(c.tooDear(s, b.quota.lane, now), c.cannotCap(s, now))
}

// meanCap is how many tokens an answer of the batch may have, in the mean.
func (b *batch) meanCap(l *loaded) (int64, error) {
	if b.Spec.Lines == "" || b.Spec.Kind == jobs.Embed || b.Rows == 0 {
		return l.meanCap(b.Spec)
	}
	return (b.caps.sum + b.Rows - 1) / b.Rows, nil
}
