package cli

import (
	"context"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter/gemini"
)

// runUnknown shows the answers that nobody could explain.
func runUnknown(ctx context.Context, o *errorsOptions, args []string) error {
	if len(args) > 0 || o.Rows {
		return usageErrorf("--unknown is about the calls of all runs and of people: give neither RUN nor --rows with it")
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	list, err := be.unexplained(ctx)
	if err != nil {
		return err
	}
	return o.printUnknown(list)
}

func (b *backend) unexplained(ctx context.Context) ([]gemini.UnexplainedAnswer, error) {
	return gemini.NewUnexplainedStore(b.rdb, b.conf.scope()).List(ctx)
}

func (o *errorsOptions) printUnknown(list []gemini.UnexplainedAnswer) error {
	if len(list) == 0 {
		o.say("every answer of the last 30 days could be explained")
	}
	t := newTable("TIMES", "FIRST", "LAST", "LANE", "STATUS", "ANSWER").numeric(0, 4)
	for _, u := range list {
		t.row(humanize.Comma(u.Count), clock(u.First, o.now()), clock(u.Last, o.now()), u.Lane, u.Status, glance(u))
	}
	if err := o.print(t, list); err != nil || len(list) == 0 || o.opts.output == "json" {
		return err
	}
	o.say("to report them: nightshift errors --unknown --output json, look through it, and put it into a bug report;\n" +
		"keys, project names and what was asked are taken out, and `nightshift classify` reads each entry")
	return nil
}

// glance is the beginning of a body, in one line.
func glance(u gemini.UnexplainedAnswer) string {
	const most = 100
	text := strings.Join(strings.Fields(u.Body), " ")
	switch runes := []rune(text); {
	case text == "":
		return "(no body)"
	case len(runes) > most:
		return string(runes[:most-1]) + "…"
	}
	return text
}

// noteUnknown: lately unexplained answers may be why rows failed.
func (o *errorsOptions) noteUnknown(ctx context.Context, be *backend) error {
	list, err := be.unexplained(ctx)
	if err != nil {
		return err
	}
	var n int64
	for _, u := range list {
		if o.now().Sub(u.Last) < 24*time.Hour {
			n += u.Count
		}
	}
	if n > 0 {
		o.say("%s of the API could not be explained lately: nightshift errors --unknown", plural(int(n), "answer"))
	}
	return nil
}
