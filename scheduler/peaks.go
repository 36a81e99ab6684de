package scheduler

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// HourPeak is the largest minute of a class in one hour of a lane: what it took,
// and what those of its calls would have that were refused. Where an hour was
// learned after its minutes had expired, it is three times the mean.
type HourPeak struct {
	At            time.Time // when the hour begins
	Region, Model string
	Class         string
	Peak          limiter.Amounts // of units that the meter counts; indexed by unit
}

// Peaks gives what the leading scheduler has learned of the hours since a time,
// oldest first; nothing where no scheduler has run.
func (c *Control) Peaks(ctx context.Context, since time.Time) ([]HourPeak, error) {
	s := hourStore{Control: c}
	if err := s.load(ctx, 0); err != nil {
		return nil, err
	}
	var out []HourPeak
	for h, uses := range s.hours {
		if hourStart(h).Before(since) {
			continue
		}
		for k, use := range uses {
			region, model, _ := strings.Cut(k.lane, "/")
			out = append(out, HourPeak{At: hourStart(h), Region: region, Model: model, Class: k.class, Peak: use.peak})
		}
	}
	slices.SortFunc(out, func(a, b HourPeak) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Model, b.Model), strings.Compare(a.Region, b.Region), strings.Compare(a.Class, b.Class))
	})
	return out, nil
}
