package jobs

import (
	"strings"
	"testing"
)

func TestParseHalt(t *testing.T) {
	for text, want := range map[string]Halt{
		"":                     {Same: DefaultSame},
		"off":                  {},
		"fail=20%/200":         {Same: DefaultSame, SharePPM: 200_000, Of: 200},
		"fail=0.5%/1000":       {Same: DefaultSame, SharePPM: 5_000, Of: 1000},
		"same=10":              {Same: 10},
		"same=10,fail=50%/100": {Same: 10, SharePPM: 500_000, Of: 100},
		"fail=50%/100, same=1": {Same: 1, SharePPM: 500_000, Of: 100},
	} {
		got, err := ParseHalt(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, err %v; want %+v", text, got, err, want)
		}
		if again, err := ParseHalt(got.String()); err != nil || again != got {
			t.Errorf("%q prints as %q, which is %+v (err %v)", text, got.String(), again, err)
		}
	}
}

func TestParseHaltRefuses(t *testing.T) {
	for _, text := range []string{
		"on", "fail", "fail=20", "fail=20%", "fail=20/200", "fail=0%/200", "fail=100%/200", "fail=-1%/200", "fail=NaN%/200", "fail=20%/0", "fail=20%/10001",
		"fail=20%/x", "same=0", "same=-5", "same=", "same=50;fail=20%/200", "off,same=5", "fail=1e999%/200",
	} {
		if h, err := ParseHalt(text); err == nil {
			t.Errorf("%q was taken as %+v", text, h)
		} else if !strings.Contains(err.Error(), "fail=20%/200") {
			t.Errorf("%q: the error shows no example: %v", text, err)
		}
	}
}
