package geminitest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseFault reads a fault as text: KIND[(RETRY)] and any of
//
//	=1%  =0.01       with this probability
//	@17  @100-  @100-200   by number of the call, from 1
//	@2m-  @2m-4m     by time since the start
//	*3               at most so often
//	/gemini-3.8-flash      only this model
//	+flex            only calls that ask for this service tier
//	~some text       only prompts that have the text; must be last
//
// revoke-key@100 refuses the key that call 100, or the next one after it, came with.
func ParseFault(s string) (Fault, error) {
	var f Fault
	head, text, hasText := strings.Cut(s, "~")
	f.Text = text
	if hasText && text == "" {
		return f, fmt.Errorf("fault %q: no text after ~", s)
	}
	kind, rest := splitAt(head, "(=@*/+")
	f.Kind = FaultKind(kind)
	if hint, ok := strings.CutPrefix(rest, "("); ok {
		hint, after, closed := strings.Cut(hint, ")")
		if !closed {
			return f, fmt.Errorf("fault %q: ( without )", s)
		}
		d, err := time.ParseDuration(hint)
		if err != nil {
			return f, fmt.Errorf("fault %q: %q is no duration like 36s", s, hint)
		}
		f.Retry, rest = d, after
	}
	for rest != "" {
		var option string
		sign := rest[0]
		option, rest = splitAt(rest[1:], "=@*/+")
		if err := f.option(sign, option); err != nil {
			return f, fmt.Errorf("fault %q: %w", s, err)
		}
	}
	if f.Kind == FaultAnswer {
		return f, fmt.Errorf("fault %q: cannot be given as text", s)
	}
	return f, f.check()
}

func splitAt(s, signs string) (head, rest string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func (f *Fault) option(sign byte, s string) (err error) {
	switch sign {
	case '=':
		f.Share, err = parseShare(s)
	case '@':
		err = f.parseRange(s)
	case '*':
		if f.Times, err = strconv.ParseInt(s, 10, 64); err != nil || f.Times < 1 {
			err = fmt.Errorf("%q is no number of times", s)
		}
	case '/':
		if f.Model = s; s == "" {
			err = errors.New("no model after /")
		}
	case '+':
		if f.Tier = s; s == "" {
			err = errors.New("no service tier after +")
		}
	default:
		err = fmt.Errorf("%q is not understood", string(sign)+s)
	}
	return err
}

func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	share, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no probability like 1%% or 0.01", s)
	}
	if percent {
		share /= 100
	}
	if share <= 0 || share > 1 {
		return 0, fmt.Errorf("probability %q is not above 0 and at most 100%%", s)
	}
	return share, nil
}

// parseRange reads call numbers, or times when there is a unit.
func (f *Fault) parseRange(s string) error {
	from, to, isRange := strings.Cut(s, "-")
	if first, err := strconv.ParseInt(from, 10, 64); err == nil && first > 0 {
		f.First = first
		if !isRange && f.Kind != FaultRevokeKey {
			f.Last = first
		}
		if to == "" {
			return nil
		}
		if f.Last, err = strconv.ParseInt(to, 10, 64); err != nil {
			return fmt.Errorf("%q is no range of calls like 100-200", s)
		}
		return nil
	}
	after, err := time.ParseDuration(from)
	if err != nil || !isRange {
		return fmt.Errorf("%q is neither a call (17), a range of calls (100-200, 100-) nor of times (2m-4m, 2m-)", s)
	}
	f.After = after
	if to == "" {
		return nil
	}
	if f.Until, err = time.ParseDuration(to); err != nil {
		return fmt.Errorf("%q is no range of times like 2m-4m", s)
	}
	return nil
}

// String is what ParseFault reads.
func (f Fault) String() string {
	b := strings.Builder{}
	b.WriteString(string(f.Kind))
	write := func(ok bool, format string, args ...any) {
		if ok {
			fmt.Fprintf(&b, format, args...)
		}
	}
	write(f.Retry > 0, "(%s)", f.Retry)
	write(f.Share > 0, "=%s%%", strconv.FormatFloat(f.Share*100, 'g', -1, 64))
	write(f.First > 0 || f.Last > 0, "@%d", max(f.First, 1))
	write(f.Last > 0 && f.Last != f.First, "-%d", f.Last)
	write(f.First > 0 && f.Last == 0, "-")
	write(f.After > 0 || f.Until > 0, "@%s-", f.After)
	write(f.Until > 0, "%s", f.Until)
	write(f.Times > 0, "*%d", f.Times)
	write(f.Model != "", "/%s", f.Model)
	write(f.Tier != "", "+%s", f.Tier)
	write(f.Text != "", "~%s", f.Text)
	return b.String()
}

// UnmarshalText makes faults in JSON and YAML the strings of ParseFault.
func (f *Fault) UnmarshalText(b []byte) (err error) {
	*f, err = ParseFault(string(b))
	return err
}

// MarshalText is String.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
