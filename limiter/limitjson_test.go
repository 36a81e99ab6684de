package limiter

import (
	"encoding/json"
	"testing"
)

// TestLimitJSON: programs read names; what older programs wrote as numbers is read.
func TestLimitJSON(t *testing.T) {
	t.Parallel()
	for u := range Unit(NumUnits) {
		for w := range Window(NumWindows) {
			in := Counter{Unit: u, Window: w}
			text, err := json.Marshal(in)
			var out Counter
			if err != nil || json.Unmarshal(text, &out) != nil || out.Unit != u || out.Window != w {
				t.Errorf("%s %s: %s (%v) is read as %s %s", u, w, text, err, out.Unit, out.Window)
			}
		}
	}
	var old Counter
	if err := json.Unmarshal([]byte(`{"unit":5,"window":3}`), &old); err != nil || old.Unit != MicroUSD || old.Window != Month {
		t.Errorf("an older counter is read as %s %s (%v)", old.Unit, old.Window, err)
	}
	if got := jsonOf(Limit{Unit: InputTokens, Window: TenMinutes, Amount: 7}); got != `{"unit":"input_tokens","window":"10m","amount":7}` {
		t.Errorf("a limit is written %s", got)
	}
	for _, bad := range []string{`"furlongs"`, `-1`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(Unit)); err == nil {
			t.Errorf("%s is a unit", bad)
		}
	}
}
