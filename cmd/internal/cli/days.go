package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

const day = 24 * time.Hour

// parseDays reads "30d", "2w", "36h" and whatever else Go takes for a duration;
// above zero.
func parseDays(text string) (time.Duration, error) {
	if text == "" {
		return 0, fmt.Errorf("%q: want a time such as 30d, 2w or 36h", text)
	}
	unit := map[byte]time.Duration{'d': day, 'w': 7 * day}[text[len(text)-1]]
	n, err := strconv.ParseFloat(text[:len(text)-1], 64)
	var d time.Duration
	switch {
	case unit == 0:
		d, err = time.ParseDuration(text)
	case err == nil && n*float64(unit) < math.MaxInt64:
		d = time.Duration(n * float64(unit))
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: want a time above zero such as 30d, 2w or 36h", text)
	}
	return d, nil
}

// days is a duration as parseDays reads it, in the largest whole unit.
func days(d time.Duration) string {
	if d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return limiter.ShortDuration(d)
}

// parseKeep reads how long a run is kept: a time as parseDays has it, or "forever".
func parseKeep(text string) (time.Duration, error) {
	if text == "forever" {
		return jobs.KeepForever, nil
	}
	d, err := parseDays(text)
	if err != nil {
		err = fmt.Errorf("%w, or forever", err)
	}
	return d, err
}
