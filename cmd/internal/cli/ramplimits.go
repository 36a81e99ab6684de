package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// limitNames are what --hold-over takes, as the section ramps of the configuration does.
var limitNames = []string{"refused", "failed", "degraded", "least", "p95", "first_token", "slower", "samples"}

// readSteps reads "5%,25%,50%,100%".
func readSteps(text string) (steps []int64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		v, err := readShare(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%w: want rising shares that end with 100%%, such as %s", err, defaultSteps)
		}
		if v == 0 || len(steps) > 0 && v <= steps[len(steps)-1] {
			return nil, fmt.Errorf("want rising shares above 0%%, such as %s", defaultSteps)
		}
		steps = append(steps, v)
	}
	if steps[len(steps)-1] != ppm {
		return nil, errors.New("the last of them must be 100%")
	}
	return steps, nil
}

// readLimits reads "p95=4s", "refused=2%", "slower=1.5".
func readLimits(texts []string) (l gemini.RampLimits, err error) {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return l, usageErrorf("--hold-over %s: want NAME=VALUE, as in p95=4s; names are %s", text, strings.Join(limitNames, ", "))
		}
		if err := readLimit(&l, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return l, usageErrorf("--hold-over %s: %v", text, err)
		}
	}
	if err := scheduler.CheckRampLimits("--hold-over", l); err != nil {
		return l, &usageError{err}
	}
	return l, nil
}

func readLimit(l *gemini.RampLimits, name, value string) (err error) {
	switch name {
	case "refused":
		l.RefusedPPM, err = readPart(value)
	case "failed":
		l.FailedPPM, err = readPart(value)
	case "degraded":
		l.DegradedPPM, err = readPart(value)
	case "p95":
		l.P95, err = readTime(value)
	case "first_token":
		l.FirstToken, err = readTime(value)
	case "samples":
		l.Samples, err = readCount(value)
	case "least":
		l.Least, err = readCount(value)
	case "slower":
		l.SlowerPPM, err = readFactor(value)
	default:
		return fmt.Errorf("there is no limit %q%s; want some of %s", name, nearest(name, likeLimits(name)), strings.Join(limitNames, ", "))
	}
	return err
}

// likeLimits leaves out the short name that any three letters are near to.
func likeLimits(name string) []string {
	return slices.DeleteFunc(slices.Clone(limitNames), func(k string) bool { return len(k) <= 3 && !strings.HasPrefix(name, k[:1]) })
}

func readPart(text string) (int64, error) {
	v, err := readShare(text)
	if err != nil || v == 0 || v == ppm {
		return 0, errors.New("want a part above 0 and below 1, such as 2% or 0.02")
	}
	return v, nil
}

func readTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("want a time, such as 4s or 800ms")
	}
	return d, nil
}

func readCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, errors.New("want a number above zero")
	}
	return n, nil
}

func readFactor(text string) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 1 && v <= 1000) {
		return 0, errors.New("want a number above 1, such as 1.5 for half as slow again")
	}
	return ppmOf(v), nil
}
