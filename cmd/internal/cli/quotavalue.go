package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// shareNames are what is given as a part of a limit.
var shareNames = []string{"outside", "guarantee", "floor", "trickle", "cap", "output_floor"}

// readValue reads what stands after NAME= into an override: 300, 2M, 10 %, $25.
func readValue(o *limiter.Override, text string) (err error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return usageErrorf("%s=: no value", o.Name)
	case o.Name == "lend", o.Name == "shadow":
		o.Text = strings.ReplaceAll(text, " ", "")
	case slices.Contains(shareNames, o.Name):
		o.Value, err = readShare(text)
	case o.Node == limiter.NodeWeights:
		o.Value, err = strconv.ParseInt(text, 10, 64)
	case text == limiter.None:
		o.Text = limiter.None
	case strings.HasPrefix(o.Name, "usd_"):
		o.Value, err = readAmount(strings.TrimSpace(strings.TrimPrefix(text, "$")), 1_000_000)
	default:
		o.Value, err = readAmount(text, 1)
	}
	if err != nil {
		return usageErrorf("%s=%s: %s", o.Name, text, wanted(o))
	}
	return nil
}

// wanted says how a value is written.
func wanted(o *limiter.Override) string {
	switch {
	case slices.Contains(shareNames, o.Name):
		return "want a share, such as 10% or 0.10"
	case o.Node == limiter.NodeWeights:
		return "want a weight from 1 to 1000"
	case strings.HasPrefix(o.Name, "usd_"):
		return "want dollars above zero, such as 25 or $0.50, or none for no limit"
	}
	return "want a number above zero, such as 300, 20k or 2M, or none for no limit"
}

// readShare reads "10%", "10 %" or "0.1" as parts per million.
func readShare(text string) (int64, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) { // NaN is neither
		return 0, fmt.Errorf("%q is no share", text)
	}
	return int64(math.Round(v * ppm)), nil
}

var suffixes = map[byte]float64{'k': 1e3, 'K': 1e3, 'M': 1e6, 'G': 1e9}

// readAmount reads "300", "20k", "1.5M" or "1,000,000", times a unit.
func readAmount(text string, unit float64) (int64, error) {
	number := strings.NewReplacer(",", "", "_", "").Replace(text)
	if n := len(number); n > 0 && suffixes[number[n-1]] > 0 {
		unit *= suffixes[number[n-1]]
		number = number[:n-1]
	}
	v, err := strconv.ParseFloat(number, 64)
	v = math.Round(v * unit * 1e3)
	if err != nil || !(v >= 1e3 && v < 1e18) || math.Mod(v, 1e3) != 0 {
		return 0, fmt.Errorf("%q is no amount", text)
	}
	return int64(v / 1e3), nil
}

// valueText is an override's value as people write it.
func valueText(o limiter.Override) string {
	switch {
	case o.Text != "":
		return strings.ReplaceAll(o.Text, ",", ", ")
	case slices.Contains(shareNames, o.Name):
		return strconv.FormatFloat(float64(o.Value)*100/ppm, 'f', -1, 64) + " %"
	case strings.HasPrefix(o.Name, "usd_"):
		return usdWhole(o.Value)
	}
	return humanize.Comma(o.Value)
}
