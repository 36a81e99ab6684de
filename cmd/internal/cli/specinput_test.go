package cli

import (
	"reflect"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestInputFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delimiter, size string
		want            jobs.Input
	}{
		{"", "16MiB", jobs.Input{MaxRecord: 16 << 20}},
		{";", "1000", jobs.Input{Delimiter: ';', MaxRecord: 1000}},
		{"tab", "1GiB", jobs.Input{Delimiter: '\t', MaxRecord: 1 << 30}},
		{`\t`, "2 MB", jobs.Input{Delimiter: '\t', MaxRecord: 2_000_000}},
		{"\t", "1k", jobs.Input{Delimiter: '\t', MaxRecord: 1000}},
		{"¦", "1k", jobs.Input{Delimiter: '¦', MaxRecord: 1000}},
	} {
		var in jobs.Input
		c.want.MaxBytes = 64 << 30
		if err := (&inputFlags{Delimiter: c.delimiter, MaxRecord: c.size, MaxInput: "64GiB"}).format(&in); err != nil || !reflect.DeepEqual(in, c.want) {
			t.Errorf("%q %q: %+v (%v)", c.delimiter, c.size, in, err)
		}
	}
}

func TestInputFormatRefused(t *testing.T) {
	for flag, values := range map[string][]string{
		"--delimiter":  {";;", "\"", "\n", "\xff", "comma"},
		"--max-record": {"0", "-1", "much", "2GiB", "4 parsecs"},
		"--max-input":  {"0", "-1", "much", "8EiB"},
		"--format":     {"xlsx", "JSON"},
	} {
		for _, v := range values {
			code, said := plan(t, flag+"="+v)
			if code != exitUsage || !strings.Contains(said, "nightshift: "+flag) {
				t.Errorf("%s %q: %d, %s", flag, v, code, said)
			}
		}
	}
}
