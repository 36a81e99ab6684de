package dashboard

import (
	"regexp"
	"strings"
	"unicode"
)

// Contents is how much operators see of what rows contain: their fields, answers and
// messages that may quote them, and tasks' payloads. Who only looks sees nothing of it.
type Contents int

const (
	// Redacted shows one failed row at a time, on its run's page, without what looks like
	// somebody's address or number. Lists of tasks are masked.
	Redacted Contents = iota
	// Masked shows nothing.
	Masked
	// Plain shows all but credentials, in lists of tasks too.
	Plain
)

// contentsFor is the one rule of our pages and of asynqmon's.
func (d *Dashboard) contentsFor(v Viewer) Contents {
	if !v.Role.may(RoleOperate) {
		return Masked
	}
	return d.cfg.Contents
}

// Bodies says whether who looks may see what a row contains.
func (s *shown) Bodies() bool { return s.contents != Masked }

// Redacts says that who looks sees it without what looks personal.
func (s *shown) Redacts() bool { return s.contents == Redacted }

// Body is what who looks may see of what a row contains, or of a message that may quote
// it; "" where that is masked.
func (s *shown) Body(text string) string {
	switch s.contents {
	case Masked:
		return ""
	case Redacted:
		return withoutPersonal(text)
	}
	return text
}

var (
	addresses = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)
	accounts  = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`)
	numbers   = regexp.MustCompile(`[+(]{0,2}[0-9][0-9 ()./-]{5,}[0-9]`)
	dates     = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2})?$`)
)

// withoutPersonal takes out what looks like an e-mail address, or a telephone, card or
// account number. Names stay: no pattern knows them, and where they matter it is masked.
func withoutPersonal(s string) string {
	s = accounts.ReplaceAllString(addresses.ReplaceAllString(s, "[e-mail]"), "[account]")
	return numbers.ReplaceAllStringFunc(s, func(n string) string {
		if digits := strings.Map(onlyDigits, n); len(digits) < 7 || dates.MatchString(n) {
			return n
		}
		return "[number]"
	})
}

func onlyDigits(r rune) rune {
	if unicode.IsDigit(r) {
		return r
	}
	return -1
}
