package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// inputKinds is what the commands that read rows say of their INPUT.
const inputKinds = "CSV, TSV, JSONL, a JSON array or batch requests; gzip or zstd too; 'in/*.csv'; - for standard input"

// inputFlags say how rows are read.
type inputFlags struct {
	Format      string
	IDColumn    string
	Encoding    string
	Delimiter   string
	MaxRecord   string
	MaxInput    string
	SkipInvalid bool
	Invalid     string
}

func (o *inputFlags) addInputFlags(fl *pflag.FlagSet) {
	fl.StringVar(&o.Format, "format", "", "the input's `FORMAT` where name and content do not tell: "+strings.Join(jobs.Formats, ", "))
	fl.StringVar(&o.IDColumn, "id-column", "", "the `COLUMN` that identifies a row; '#' takes the row's number, from 1 (default id)")
	fl.StringVar(&o.Encoding, "encoding", "", "the input's `ENCODING` when it is not UTF-8: cp932, shift_jis, latin1, …")
	fl.StringVar(&o.Delimiter, "delimiter", "", "the `CHARACTER` between CSV cells, or tab (default: a comma, a tab in .tsv files)")
	fl.StringVar(&o.MaxRecord, "max-record", "16MiB", "the largest `SIZE` of one row in the input")
	fl.StringVar(&o.MaxInput, "max-input", "64GiB", "the largest `SIZE` of the whole input, unpacked")
	fl.BoolVar(&o.SkipInvalid, "skip-invalid", false, "leave bad rows out and say which, instead of refusing the input")
	fl.StringVar(&o.Invalid, "invalid", "", "with --skip-invalid: write the rows that were left out to this `FILE`, to be mended and given as INPUT")
}

// inputArgs wants files, or standard input alone.
func inputArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("INPUT is missing: nightshift %s rows.jsonl (a .jsonl or .csv file, or - for standard input)", cmd.Name())
	}
	if len(args) > 1 && slices.Contains(args, "-") {
		return fmt.Errorf("- (standard input) is read alone: leave the other files out, or name a file in its place")
	}
	return nil
}

// input is where the rows come from, patterns expanded.
func (o *specOptions) input(f *factory, c *loaded, args []string) (in jobs.Input, err error) {
	if err := o.format(&in); err != nil {
		return in, &usageError{err}
	}
	in.Stdin, in.Encoding = f.In, orElse(o.Encoding, c.Run.Encoding)
	if in.Paths, err = jobs.ExpandPaths(args); err != nil {
		return in, invalid(err)
	}
	return in, nil
}

// format sets how the input's rows are told apart.
func (o *inputFlags) format(in *jobs.Input) (err error) {
	if o.Format != "" {
		if err := oneOf("--format", o.Format, jobs.Formats...); err != nil {
			return err
		}
	}
	in.Format = o.Format
	if in.Delimiter, err = delimiter(o.Delimiter); err != nil {
		return err
	}
	if in.Delimiter != 0 && (in.Format == "json" || in.Format == "jsonl" || strings.HasSuffix(in.Format, "-batch")) {
		return fmt.Errorf("--delimiter is for CSV: leave it out with --format %s", in.Format)
	}
	record, err := humanize.ParseBytes(o.MaxRecord)
	if err != nil || record == 0 || record > math.MaxInt32 {
		return fmt.Errorf("--max-record %q: want a size below 2 GiB, such as 64MiB", o.MaxRecord)
	}
	all, err := humanize.ParseBytes(o.MaxInput)
	if err != nil || all == 0 || all > math.MaxInt64/2 {
		return fmt.Errorf("--max-input %q: want a size, such as 100GiB", o.MaxInput)
	}
	in.MaxRecord, in.MaxBytes = int(record), int64(all)
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

// resultsName is where results go by default: beside a single input.
func resultsName(inputs []string) string {
	if len(inputs) != 1 || inputs[0] == "-" || strings.ContainsAny(inputs[0], "*?[") {
		return "results.jsonl"
	}
	base := inputs[0]
	for _, z := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		base = strings.TrimSuffix(base, z)
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".results.jsonl"
}
