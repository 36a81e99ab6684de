package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// explainWords says what the limiter decided in sentences for people.
type explainWords struct {
	conf *loaded
	now  time.Time
}

// sentence is the answer of quota explain.
func (w explainWords) sentence(e *explained) string {
	if e.Granted {
		return fmt.Sprintf("Yes: %s call to %s would be admitted now.%s", article(e.Class), e.Lane.Lane.Model, w.tightest(e))
	}
	d := e.Denied
	if d.Reason == limiter.ReasonTooLarge {
		return fmt.Sprintf("No, never: it needs %s, and %s may take %s at once by its %s. Make it smaller, or use a model whose limit is larger.",
			limitAmount(e, d, d.Limit+d.Shortage), e.Class, limitAmount(e, d, d.Limit), whose(d))
	}
	s := fmt.Sprintf("Not now: %s. %s", w.why(e), w.when(e))
	for _, more := range []string{w.holders(e), w.loan(e), w.users(e)} {
		if more != "" {
			s += "\n" + more
		}
	}
	return s
}

// article puts the word before a class or noun that fits it.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// tightest says which limit has the fewest such calls left. One in shadow would not
// refuse them.
func (w explainWords) tightest(e *explained) string {
	least, of := int64(-1), ""
	for _, x := range waySteps(e) {
		if n := x.room / max(1, x.needs); x.needs > 0 && !x.limit.Shadow && (least < 0 || n < least) {
			least, of = n, x.name()
		}
	}
	if least < 0 {
		return ""
	}
	return fmt.Sprintf(" The tightest limit, %s, has room for %s more like it.", of, humanize.Comma(max(0, least-1)))
}

// why is the rule that refused.
func (w explainWords) why(e *explained) string {
	d := e.Denied
	if b := e.Lane.Broken(); b != nil && d.Limiter == "" && d.Reason == b.Reason {
		return w.conf.breakerSentence(b, w.now)
	}
	switch d.Reason {
	case limiter.ReasonQuota, limiter.ReasonSpend:
		return fmt.Sprintf("%s lacks %s: %s of %s are used%s", whose(d), limitAmount(e, d, d.Shortage),
			plainAmount(e, d, d.Used), plainAmount(e, d, d.Limit), inWindow(windowOf(e, d)))
	case limiter.ReasonShare:
		s := fmt.Sprintf("%s has room, but not enough of it for %s: it lacks %s", whose(d), e.Class, limitAmount(e, d, d.Shortage))
		if held := heldFor(e, d); held != "" {
			s += "; " + held
		}
		if d.Detail != "" {
			s += " (" + d.Detail + ")"
		}
		return s
	case limiter.ReasonSmoothing:
		return fmt.Sprintf("there is room, but %s keeps an even pace, so that whoever comes new does not meet a full window", e.Class)
	case limiter.ReasonTurn:
		return fmt.Sprintf("there is room, but %s calls wait and have their turn first", humanize.Comma(waiting(e.Lane)))
	case limiter.ReasonPaused:
		if p := pauseFor(e); p != nil {
			return pauseSentence(p, w.now)
		}
		return "it is paused (" + d.Detail + ")"
	case limiter.ReasonCooldown, limiter.ReasonBreaker, limiter.ReasonCredentials:
		if c := e.Lane.Cooldown; c != nil {
			return w.conf.restSentence(c, w.now)
		}
	}
	return strings.TrimSpace(string(d.Reason) + " " + d.Detail)
}

// pauseFor is the pause that the limiter answered with: the one that holds longest.
func pauseFor(e *explained) *limiter.Pause {
	var longest *limiter.Pause
	for i, p := range e.Lane.Pauses {
		if p.Class != "" && p.Class != e.Class || p.Run != "" && p.Run != e.Path.Run || p.Priority != "" && p.Priority != e.Path.Priority {
			continue
		}
		if longest == nil || !longest.Until.IsZero() && (p.Until.IsZero() || p.Until.After(longest.Until)) {
			longest = &e.Lane.Pauses[i]
		}
	}
	return longest
}

// when is the earliest time.
func (w explainWords) when(e *explained) string {
	d := e.Denied
	if d.Reason == limiter.ReasonPaused {
		if p := pauseFor(e); p != nil && p.Until.IsZero() {
			return "When it may go nobody knows."
		}
	}
	if d.Reason == limiter.ReasonTurn && !e.through.IsZero() {
		return fmt.Sprintf("A job of the kind would get its place in the line of its run; all that waits now is through by about %s.", clock(e.through, w.now))
	}
	after := d.RetryAfter()
	if after < time.Second {
		return "The earliest is within a second."
	}
	if after < 10*time.Second {
		return fmt.Sprintf("The earliest is in %.1f s.", after.Seconds())
	}
	return fmt.Sprintf("The earliest is %s (in %s).", clock(w.now.Add(after), w.now), ago(after))
}

// holders says which classes have what is used.
func (w explainWords) holders(e *explained) string {
	d := e.Denied
	if len(d.Holders) == 0 {
		return ""
	}
	var parts []string
	for _, h := range d.Holders {
		parts = append(parts, fmt.Sprintf("%s %s", h.Class, plainAmount(e, d, h.Used)))
	}
	return fmt.Sprintf("Who has it: %s.", strings.Join(parts, ", "))
}

// loan says what of it is lent, and when it is back.
func (w explainWords) loan(e *explained) string {
	d := e.Denied
	if d.Lent <= 0 {
		return ""
	}
	back := "as soon as those calls end"
	switch windowOf(e, d) {
	case limiter.Minute:
		back = "within a minute, by " + clock(w.now.Add(61*time.Second), w.now) + " at the latest"
	case limiter.TenMinutes:
		back = "within ten minutes, by " + clock(w.now.Add(610*time.Second), w.now) + " at the latest"
	case limiter.Day, limiter.Month:
		back = "only with the next " + windowOf(e, d).String()
	}
	return fmt.Sprintf("On loan to lower classes: %s; they are back %s.", limitAmount(e, d, d.Lent), back)
}

// users names those who called most in the last minute.
func (w explainWords) users(e *explained) string {
	if len(e.Users) == 0 || len(e.Denied.Holders) == 0 {
		return ""
	}
	var parts []string
	for _, u := range e.Users[:min(3, len(e.Users))] {
		parts = append(parts, fmt.Sprintf("%s (%s) with %s of the requests and %s of the tokens",
			u.Feature, u.Class, shareText(u.RequestsShare), shareText(u.TokensShare)))
	}
	return fmt.Sprintf("Most of the last minute: %s.", strings.Join(parts, ", "))
}

// whose is a limit with its node: "rpm of tenant/acme"; a lane's is its own.
func whose(d *limiter.Denied) string {
	if d.Node == "" || d.Node == "lane" {
		return d.Limiter
	}
	return d.Limiter + " of " + d.Node
}

// heldFor says what is kept from the class for those above it.
func heldFor(e *explained, d *limiter.Denied) string {
	var parts []string
	for _, l := range limitsAt(e, d.Node) {
		for _, c := range l.Classes {
			if l.Name != d.Limiter || c.Class == e.Class {
				continue
			}
			if held := c.Protected - c.Used; held > 0 {
				parts = append(parts, amount(l.Unit, held)+" are kept for "+c.Class)
			}
		}
	}
	return strings.Join(parts, ", ")
}

func limitsAt(e *explained, node string) []limiter.LimitState {
	if at := slices.IndexFunc(e.Nodes, func(n limiter.NodeState) bool { return n.Node == node }); at >= 0 {
		return e.Nodes[at].Limits
	}
	return e.Lane.Limits
}

// limitOf is the limit that refused; the zero one where none did.
func limitOf(e *explained, d *limiter.Denied) limiter.LimitState {
	for _, l := range limitsAt(e, d.Node) {
		if l.Name == d.Limiter {
			return l
		}
	}
	return limiter.LimitState{}
}

func windowOf(e *explained, d *limiter.Denied) limiter.Window { return limitOf(e, d).Window }

func plainAmount(e *explained, d *limiter.Denied, n int64) string {
	return amount(limitOf(e, d).Unit, n)
}

func limitAmount(e *explained, d *limiter.Denied, n int64) string {
	return unitWords(limitOf(e, d).Unit, n)
}

// amountsWords is what a call takes.
func amountsWords(a limiter.Amounts) string {
	var parts []string
	for _, u := range []limiter.Unit{limiter.Requests, limiter.InputTokens, limiter.OutputTokens, limiter.Images, limiter.MicroUSD} {
		if a[u] > 0 {
			parts = append(parts, unitWords(u, a[u]))
		}
	}
	return strings.Join(parts, ", ")
}
