package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

type reportOptions struct {
	*factory
	Format string
	File   string
	Zone   string
}

// reportFormats are what --format takes.
var reportFormats = []string{"terminal", "markdown", "html", "json"}

func newReportCmd(f *factory) *cobra.Command {
	o := &reportOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "One page about a run: what came of it, what failed, what it cost, and what to do",
		Long: "Says what to do first, then what failed by cause, cost against what was expected, what rows waited for, how\n" +
			"quota was used over the time, what those who wait for answers saw meanwhile, and what happened. Of a run that is\n" +
			"open it says so, and when it will be done. The page of a `run` without a shared Redis is kept in the state\n" +
			"directory. -o report.html is one file with charts that needs no network.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return showReport(cmd.Context(), o, firstArg(args)) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "", "terminal, markdown, html or json (default by the name of -o, else terminal)")
	cmd.Flags().StringVarP(&o.File, "out", "o", "", "`FILE` to write it to; - for standard output")
	cmd.Flags().StringVar(&o.Zone, "zone", "", "time `ZONE` of the page, such as Europe/Berlin (default this machine's)")
	return cmd
}

func showReport(ctx context.Context, o *reportOptions, ref string) error {
	if err := o.check(); err != nil {
		return err
	}
	r, err := o.find(ctx, ref)
	if err != nil {
		return err
	}
	r.Zone = orElse(o.Zone, r.Zone)
	if o.File == "" || o.File == "-" {
		return r.write(o.Out, o.Format)
	}
	if err := writeReport(o.File, o.Format, r); err != nil {
		return err
	}
	o.say("%s: report in %s", r.Run.Title(), o.File)
	return nil
}

// check settles the format.
func (o *reportOptions) check() error {
	ext := strings.ToLower(filepath.Ext(o.File))
	if o.Format == "" && o.File != "-" && !slices.Contains([]string{"", ".html", ".htm", ".md", ".json", ".txt"}, ext) {
		return usageErrorf("-o %s: a report is .html, .md, .json or .txt; --format says which for another name", o.File)
	}
	if o.Format == "" {
		o.Format = map[string]string{".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}[ext]
	}
	o.Format = orElse(o.Format, "terminal")
	if err := oneOf("--format", o.Format, reportFormats...); err != nil {
		return &usageError{err}
	}
	if o.Zone != "" {
		if err := zoneOK("--zone", o.Zone); err != nil {
			return &usageError{err}
		}
	}
	return nil
}

// find makes the report of a run that is there, or takes the one that `run` left.
func (o *reportOptions) find(ctx context.Context, ref string) (*runReport, error) {
	be, err := o.openAny(ctx)
	if err != nil {
		if c, confErr := o.config(); confErr == nil && c.Redis == "embedded" {
			if r, found := savedReport(c.reportsDir(), ref); found {
				return r, nil
			}
		}
		return nil, err
	}
	defer be.close()
	run, err := be.store.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return be.report(ctx, run, o.now())
}

// write lays it out.
func (r *runReport) write(w io.Writer, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	case "html":
		return r.page().html(w, r.location())
	case "markdown":
		r.page().markdown(w, r.location())
	default:
		r.page().terminal(w, r.location())
	}
	return nil
}

// writeReport replaces a file as a whole: half a page is worse than yesterday's.
func writeReport(name, format string, r *runReport) error {
	f, err := createOutput(name)
	if err == nil {
		err = f.end(r.write(f, format))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
