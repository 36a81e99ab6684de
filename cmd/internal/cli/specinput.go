package cli

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// format sets how the input's rows are told apart.
func (o *specOptions) format(in *jobs.Input) (err error) {
	if in.Delimiter, err = delimiter(o.Delimiter); err != nil {
		return err
	}
	size, err := humanize.ParseBytes(o.MaxRecord)
	if err != nil || size == 0 || size > math.MaxInt32 {
		return fmt.Errorf("--max-record %q: want a size below 2 GiB, such as 64MiB", o.MaxRecord)
	}
	in.MaxRecord = int(size)
	return nil
}

// delimiter reads one character, or the name of one that is hard to type; 0 for
// the default.
func delimiter(v string) (rune, error) {
	switch v {
	case "":
		return 0, nil
	case "tab", `\t`:
		return '\t', nil
	}
	r, n := utf8.DecodeRuneInString(v)
	if n != len(v) || r == utf8.RuneError || strings.ContainsRune("\"\r\n\x00", r) {
		return 0, fmt.Errorf("--delimiter %q: want one character (no quote), or tab", v)
	}
	return r, nil
}
