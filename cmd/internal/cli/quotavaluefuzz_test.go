package cli

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nightshift/limiter"
)

// quotaNodes have every kind of value that quota set takes.
var quotaNodes = []string{"tenant/acme", "class/bulk", limiter.NodeWeights}

// FuzzQuotaValue: a value is the number that is written or it is refused by its name, and
// read again as it is shown it is the same.
func FuzzQuotaValue(f *testing.F) {
	for _, text := range []string{
		"300", "20k", "1.5M", "1,000,000", "1,5", "1,5M", "1.0001", "1e3", "0x1p4", "none", "$25", "$0.000001", "$1,234.56", "10%", "10 %", "0.1", "12.5%", "33.3333 %",
		"0.00001%", "-1", "NaN", "Inf", "1_000", "rpm, rpd", "1e-400", "9007199254740993", "999,999,999,999", "$", "%", "k", "+5", ".5M", "5.",
	} {
		for kind := range uint8(3) {
			f.Add(kind, uint8(0), text)
			f.Add(kind, uint8(9), text)
		}
	}
	f.Fuzz(func(t *testing.T, kind, which uint8, text string) {
		o := quotaValueOf(kind, which)
		if err := readValue(&o, text); err != nil {
			if !strings.HasPrefix(err.Error(), o.Name+"=") {
				t.Errorf("%s=%q: %v", o.Name, text, err)
			}
			return
		}
		if o.Text == "" {
			agrees(t, o, text)
		}
		again := limiter.Override{Node: o.Node, Name: o.Name}
		if err := readValue(&again, valueText(o)); err != nil || again.Value != o.Value || again.Text != o.Text {
			t.Errorf("%s=%q is %d %q, shown as %q and read as %d %q, %v", o.Name, text, o.Value, o.Text, valueText(o), again.Value, again.Text, err)
		}
	})
}

func quotaValueOf(kind, which uint8) limiter.Override {
	o := limiter.Override{Node: quotaNodes[int(kind)%len(quotaNodes)]}
	names := o.Names()
	if o.Node == limiter.NodeWeights {
		names = []string{"priority/high"}
	}
	o.Name = names[int(which)%len(names)]
	return o
}

// plainNumber is what a value may be written as: commas between each three digits.
var plainNumber = regexp.MustCompile(`^\+?([0-9]{1,3}(,[0-9]{3})+|[0-9][0-9_]*)?(\.[0-9]*)?(e[+-]?[0-9]{1,2})?$`)

// agrees reads the number with care for nothing but its meaning.
func agrees(t *testing.T, o limiter.Override, text string) {
	t.Helper()
	unit := big.NewRat(1, 1)
	number := strings.TrimSpace(text)
	switch {
	case slices.Contains(shareNames, o.Name):
		unit.SetInt64(ppm)
		var percent bool
		if number, percent = strings.CutSuffix(number, "%"); percent {
			unit.SetInt64(ppm / 100)
		}
	case strings.HasPrefix(o.Name, "usd_"):
		unit.SetInt64(1_000_000)
		number = strings.TrimPrefix(number, "$")
	}
	number = strings.TrimSpace(number)
	if factor := map[string]int64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[number[max(0, len(number)-1):]]; factor > 0 {
		unit.Mul(unit, big.NewRat(factor, 1))
		number = number[:len(number)-1]
	}
	want, ok := new(big.Rat).SetString(strings.NewReplacer(",", "", "_", "").Replace(number))
	if !ok || !plainNumber.MatchString(strings.ToLower(number)) {
		t.Fatalf("%s=%q is taken, as %d", o.Name, text, o.Value)
	}
	off := want.Mul(want, unit).Sub(want, new(big.Rat).SetInt64(o.Value))
	if slices.Contains(shareNames, o.Name) && off.Abs(off).Cmp(big.NewRat(1, 1)) < 0 {
		return // a part per million is the finest that there is
	}
	if off.Sign() != 0 {
		t.Errorf("%s=%q is %d", o.Name, text, o.Value)
	}
}

// TestSharesComeBack: each share is read as it is shown.
func TestSharesComeBack(t *testing.T) {
	for n := range int64(ppm + 1) {
		if got, err := readShare(valueText(limiter.Override{Name: "cap", Value: n})); got != n {
			t.Fatalf("%d came back as %d, %v", n, got, err)
		}
	}
}
