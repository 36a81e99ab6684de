package jobs

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Halt is when a run is stopped because its rows fail: the brake. What is
// counted are rows that have ended, over all workers, since the run began or was
// resumed. Failed, blocked and truncated rows are bad; done and cached ones good;
// expired and cancelled ones say nothing, since nothing was asked for them.
type Halt struct {
	// Same stops the run when so many rows have ended for one and the same cause
	// and no good one between. 0 never does.
	Same int64
	// SharePPM stops the run when more than this share of the last Of rows is
	// bad. Of 0 never does.
	SharePPM int64
	Of       int64
}

// DefaultSame is the brake that is on unless it is turned off: 50 rows in a row
// that end for one cause. A run of which as much as 70 % fails for one cause by
// chance meets 50 such rows without a good one once in 60 million rows; a broken
// template, schema or setting meets them at once, and has cost 50 calls by then.
const DefaultSame = 50

// maxHaltOf bounds the rows that a share is looked at over: they are kept as a
// byte each and read at every end.
const maxHaltOf = 10_000

// ParseHalt reads "off", or one or both of "same=N" and "fail=P%/N" with a comma
// between: "fail=20%/200" stops the run when more than 20 % of the last 200 rows
// that ended are bad. What is not named is as by default: same=50 and no share.
func ParseHalt(text string) (Halt, error) {
	h := Halt{Same: DefaultSame}
	switch strings.TrimSpace(text) {
	case "":
		return h, nil
	case "off":
		return Halt{}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var ok bool
		switch name {
		case "same":
			h.Same, ok = haltCount(value, math.MaxInt32)
		case "fail":
			ok = h.share(value)
		}
		if !ok {
			return Halt{}, fmt.Errorf("%q: want fail=20%%/200 (more than 20 %% of the last 200 rows, of at most %d), same=50 (50 in a row for one cause), both with a comma between, or off", part, maxHaltOf)
		}
	}
	return h, nil
}

// share reads "20%/200".
func (h *Halt) share(value string) (ok bool) {
	percent, of, found := strings.Cut(value, "%/")
	p, err := strconv.ParseFloat(percent, 64)
	if !found || err != nil || !(p > 0 && p < 100) {
		return false
	}
	h.SharePPM = int64(math.Round(p * 10_000))
	h.Of, ok = haltCount(of, maxHaltOf)
	return ok && h.SharePPM > 0 && h.SharePPM < 1_000_000
}

func haltCount(text string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 1 && n <= most
}

// String is the brake as ParseHalt reads it.
func (h Halt) String() string {
	var parts []string
	if h.Of > 0 {
		parts = append(parts, fmt.Sprintf("fail=%s%%/%d", strconv.FormatFloat(float64(h.SharePPM)/10_000, 'f', -1, 64), h.Of))
	}
	if h.Same > 0 {
		parts = append(parts, fmt.Sprintf("same=%d", h.Same))
	}
	return cmp.Or(strings.Join(parts, ","), "off")
}
