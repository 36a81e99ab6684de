package cli

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"nightshift/jobs"
)

// otherWords is what an enqueue with --update did to rows beside asking them.
func otherWords(rep jobs.EnqueueReport) (lines []string) {
	if n := rep.OtherFields; n > 0 {
		lines = append(lines, fmt.Sprintf("%s of the known with other columns: their results carry the new values", humanize.Comma(n)))
	}
	if n := rep.OtherFieldsUnseen; n > 0 {
		lines = append(lines, unseenColumns(n))
	}
	if n := rep.Stayed; n > 0 {
		lines = append(lines, stayedRows(n))
	}
	return lines
}

func unseenColumns(n int64) string {
	return fmt.Sprintf("%s keep their old columns: their results are in files of another host, enqueue there", humanize.Comma(n))
}

func stayedRows(n int64) string {
	return fmt.Sprintf("%s bad in this file stay in the run as they were there", humanize.Comma(n))
}

// runUpdate is what --update would do to rows that are not asked.
type runUpdate struct {
	Run     string `json:"run"` // "": there is none yet
	Removed int64  `json:"removed"`
	Stayed  int64  `json:"kept_bad"`
	Other   int64  `json:"other_columns"`
	Unseen  int64  `json:"other_columns_unseen"`
}

func (p *runUpdate) rows(t *dataTable, input string) {
	if p == nil {
		return
	}
	if p.Run == "" {
		t.row("update", "there is no such run yet: all rows are new to it")
		return
	}
	head := "update"
	say := func(n int64, words string) {
		if n > 0 {
			t.row(head, words)
			head = ""
		}
	}
	say(p.Other, fmt.Sprintf("%s with other columns: their results will carry the new values, without a call", humanize.Comma(p.Other)))
	say(p.Unseen, unseenColumns(p.Unseen))
	say(p.Removed, fmt.Sprintf("%s will leave the run with their results: %s is without them", rowsOf(p.Removed), input))
	say(p.Stayed, stayedRows(p.Stayed))
	if head != "" {
		t.row(head, "no other columns, and no row leaves the run")
	}
}

// planOptions are what plan is asked.
type planOptions struct {
	specOptions
	Update bool
	Out    string // results file of run; "" as run names it
}

func (o *planOptions) addUpdateFlag(fl *pflag.FlagSet) {
	fl.BoolVar(&o.Update, "update", false, "say what enqueue --update would do to the run")
}
