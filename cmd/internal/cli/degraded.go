package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter/gemini"
)

// degradedHour is how many calls got another answer than their model's in the
// last hour, by cause.
type degradedHour struct {
	Calls   int64                         `json:"calls"`
	ByCause map[gemini.DegradeCause]int64 `json:"by_cause"`
	ByKind  map[gemini.DegradeKind]int64  `json:"by_kind"`
}

func (o *overview) gatherDegraded(ctx context.Context, b *backend) error {
	samples, err := gemini.ReadMeter(ctx, b.rdb, b.conf.scope(), gemini.StepMinute, o.At.Add(-time.Hour), o.At)
	o.Degraded = degradedOf(samples)
	return err
}

func degradedOf(samples []gemini.UsageSample) degradedHour {
	var sum gemini.UsageSample
	for _, s := range samples {
		sum.Merge(s)
	}
	d := degradedHour{ByCause: sum.DegradedByCause(), ByKind: sum.DegradedByKind()}
	for _, n := range d.ByCause {
		d.Calls += n
	}
	return d
}

// printDegraded is a line, or nothing.
func (o *overview) printDegraded(w io.Writer) {
	if d := o.Degraded; d.Calls > 0 {
		fmt.Fprintf(w, "degraded: %s of the last hour got another answer than their model's: %s; %s\n",
			plural(int(d.Calls), "call"), counted(d.ByCause, "for"), counted(d.ByKind, ""))
	}
}

// counted is "400 for spend, 12 for quota", the most first.
func counted[K ~string](by map[K]int64, word string) string {
	keys := slices.SortedFunc(maps.Keys(by), func(a, b K) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, k := range keys {
		parts = append(parts, strings.Join(strings.Fields(humanize.Comma(by[k])+" "+word+" "+string(k)), " "))
	}
	return strings.Join(parts, ", ")
}

// printDegradedUsers says whose refusals were answered otherwise.
func printDegradedUsers(w io.Writer, users []*userOfQuota) {
	for _, u := range users {
		if len(u.Degraded) == 0 {
			continue
		}
		var n int64
		for _, c := range u.Degraded {
			n += c
		}
		fmt.Fprintf(w, "\n%s (%s): %s got another answer than their model's (%s). They are among its refusals, 429s and failures, not among its requests' successes.\n",
			u.Feature, u.Class, plural(int(n), "call"), counted(u.Degraded, "for"))
	}
}
