package limiter

import (
	"fmt"
	"strings"
)

// Money tells whether the limit that binds is one of money.
func (d *Denied) Money() bool { return strings.HasPrefix(d.Limiter, "usd_") }

// tooDear says of a call that its estimate alone is more than a limit: what is held
// is what it may cost at worst, and what a caller can make smaller is its output.
func (d *Denied) tooDear() string {
	return fmt.Sprintf("request may cost more than %s of %s allows: limit %s, held at its worst case %s; it can never be admitted: "+
		"give it a smaller output limit (--max-output-tokens, maxOutputTokens) or raise the limit (nightshift spend set)",
		d.whose(), d.Model, dollars(d.Limit), dollars(d.Limit+d.Shortage))
}

// dollars is an amount of micro-dollars, exactly, with cents at least.
func dollars(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	part := fmt.Sprintf("%06d", micro%million)
	return fmt.Sprintf("%s$%d.%s%s", sign, micro/million, part[:2], strings.TrimRight(part[2:], "0"))
}
