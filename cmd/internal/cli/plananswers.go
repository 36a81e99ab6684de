package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"nightshift/jobs"
)

// answered finds the rows that have a good answer, whether it is to be taken over or
// not; nil where nothing can be asked.
func answered(ctx context.Context, c *loaded, be *backend, b *batch, file string) (*jobs.Lookup, error) {
	keep, _ := c.reuse()
	o := jobs.LookUpOptions{Keep: keep}
	if be == nil && c.Redis == "embedded" {
		o.Files = c.answerFiles(b.Spec)
	}
	if at, err := filepath.Abs(file); file != "" && (err != nil || !slices.Contains(o.Files, at)) {
		o.Files = append(o.Files, file)
	}
	switch {
	case be != nil:
		return be.store.LookUp(ctx, b.Prepared, o)
	case c.Redis == "embedded" || file != "":
		return jobs.LookUpFiles(ctx, b.Prepared, o)
	}
	return nil, nil
}

// resultsOf is the file that run with the same words would go on with; "" for none. With
// a shared Redis rows are compared with the runs there, unless -o says which file counts.
func (o *planOptions) resultsOf(c *loaded, inputs []string) string {
	name := o.Out
	if name == "" && c.Redis == "embedded" {
		name = resultsName(inputs)
	}
	if name == "" || name == "-" {
		return ""
	}
	lines := outOf(name).lines
	if st, err := os.Stat(lines); err != nil || !st.Mode().IsRegular() {
		return "" // a first run makes it
	}
	return lines
}
