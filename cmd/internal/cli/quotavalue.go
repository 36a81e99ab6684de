package cli

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
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
		o.Value, err = readAmount(text, 1)
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
	v, ok := readNumber(strings.TrimSpace(number))
	if !ok {
		return 0, fmt.Errorf("%q is no share", text)
	}
	if percent {
		v.Mul(v, big.NewRat(1, 100))
	}
	if v.Cmp(big.NewRat(1, 1)) > 0 {
		return 0, fmt.Errorf("%q is more than all", text)
	}
	share, _ := v.Float64()
	return int64(math.Round(share * ppm)), nil
}

var suffixes = map[byte]int64{'k': 1e3, 'K': 1e3, 'M': 1e6, 'G': 1e9}

// mostAmount is beyond what any limit can be, and far within an int64.
const mostAmount = 1e15

// readAmount reads "300", "20k", "1.5M" or "1,000,000", times a unit.
func readAmount(text string, unit int64) (int64, error) {
	times, number := big.NewRat(unit, 1), text
	if n := len(number); n > 0 && suffixes[number[n-1]] > 0 {
		times.Mul(times, big.NewRat(suffixes[number[n-1]], 1))
		number = number[:n-1]
	}
	v, ok := readNumber(number)
	if !ok {
		return 0, fmt.Errorf("%q is no number", text)
	}
	v.Mul(v, times)
	if !v.IsInt() || v.Sign() < 1 || v.Cmp(big.NewRat(mostAmount, 1)) >= 0 {
		return 0, fmt.Errorf("%q is no amount", text)
	}
	return v.Num().Int64(), nil
}

// numbers have commas between each three digits, or none: "1,5" may be one and a half or
// fifteen to who writes it.
var numbers = regexp.MustCompile(`^\+?([0-9]{1,3}(,[0-9]{3})+|[0-9][0-9_]*)?(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?$`)

// readNumber reads a number that is not negative, exactly.
func readNumber(text string) (*big.Rat, bool) {
	if !numbers.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(strings.NewReplacer(",", "", "_", "").Replace(text))
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
