package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nightshift/cmd/internal/dashboard"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// deeds are the commands that change what others share, with the word that the audit
// log has for each: the dashboard's, where it has an action that does the same.
var deeds = map[string]string{
	"pause": "pause", "stop": "stop", "lift": "lift", "resume": "resume", "cancel": "cancel", "retry": "retry", "set": "set", "purge": "purge",
	"quota set": "quota-set", "quota unset": "quota-unset", "quota state": "quota-state", "spend set": "quota-set",
	"keys add": "key-add", "keys adopt": "key-adopt", "keys rotate": "key-rotate", "keys revoke": "key-revoke",
	"ramp start": "ramp-start", "ramp hold": "ramp-hold", "ramp resume": "ramp-resume", "ramp rollback": "ramp-rollback",
	"ramp finish": "ramp-finish", "ramp forget": "ramp-forget",
	"health hold": "health-hold", "schedules run": "schedule-run", "schedules skip": "schedule-skip",
	"schedules hold": "schedule-hold", "schedules resume": "schedule-resume",
	"tenants set": "tenant-set", "tenants token": "tenant-token",
}

// deed is what a command is about to do, for the audit log. A nil one, as of a command
// that the dashboard gives, is kept by nobody here.
type deed struct {
	what          string
	target        string
	before, after string
	said          string // one sentence
	asked         string // the command line
	nothing       bool   // it has turned out to change nothing, and not even to try
	be            *backend
}

// keepDeeds has what the commands below root do recorded, whatever way they end.
func (f *factory) keepDeeds(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		f.keepDeeds(cmd)
		what := deeds[deedPath(cmd)]
		if what == "" || cmd.RunE == nil {
			continue
		}
		run := cmd.RunE
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			f.deed = &deed{what: what, target: strings.Join(args, " "), asked: commandLine(cmd, args), nothing: flagIs(cmd, "dry-run") || flagIs(cmd, "list")}
			err := run(cmd, args)
			f.keepDeed(cmd.Context(), err)
			return err
		}
	}
}

// deedPath is the command without the program's name.
func deedPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

func flagIs(cmd *cobra.Command, name string) bool {
	fl := cmd.Flags().Lookup(name)
	return fl != nil && fl.Value.String() == "true"
}

// commandLine is what was typed, without the flags that say where things are: those
// hold credentials at times.
func commandLine(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	for _, a := range args {
		words = append(words, shellWord(a))
	}
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(fl.Name) == nil && fl.Name != "output" {
			words = append(words, "--"+fl.Name+"="+shellWord(strings.Trim(fl.Value.String(), "[]")))
		}
	})
	return strings.Join(words, " ")
}

// keepDeed records what the command did, and ends the connection that it left open for
// that. A command line that was wrong is no deed, nor is one that reached nothing.
func (f *factory) keepDeed(ctx context.Context, err error) {
	d := f.deed
	if d.be == nil {
		return
	}
	defer func() { _ = d.be.rdb.Close() }()
	var wrong *usageError
	if d.nothing || errors.As(err, &wrong) {
		return
	}
	if err := d.be.recordDeed(ctx, d, err); err != nil {
		f.say("warning: the audit log has no entry of this: %v", err)
	}
}

const (
	deedPatience = 3 * time.Second
	mostDeed     = 500 // bytes of a text of an entry
)

// recordDeed keeps a deed of whoever is at this machine, as the dashboard keeps its own.
func (b *backend) recordDeed(ctx context.Context, d *deed, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deedPatience)
	defer cancel()
	hide := redactor(b.conf.secrets())
	text := func(s string) string { return cutText(hide.text(s), mostDeed) }
	e := dashboard.AuditEntry{
		Who: operator(), From: "cli", What: d.what, Target: text(d.target), Before: text(d.before), After: text(d.after),
		Result: dashboard.ResultDone, Text: text(cmp.Or(d.said, d.asked)),
	}
	if d.said != "" && d.asked != "" {
		e.Text = text(d.said + " (" + d.asked + ")")
	}
	var coded *codedError // the command did what it says and ends with a code of its own
	if err != nil && (!errors.As(err, &coded) || coded.err != nil) {
		e.Result, e.Text = dashboard.ResultFailed, text(firstLine(err.Error())+afterDash(d.asked))
	}
	return b.dashboardRecord(ctx, e)
}

func afterDash(asked string) string {
	if asked == "" {
		return ""
	}
	return " (" + asked + ")"
}

// cutText cuts a text to so many bytes, between characters.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + " …"
}

// opened is told of each connection that the command makes.
func (d *deed) opened(b *backend) {
	if d != nil && d.be == nil {
		d.be = b
	}
}

// holds says that a connection is still needed.
func (d *deed) holds(b *backend) bool { return d != nil && d.be == b }

// about says what is changed.
func (d *deed) about(target string) {
	if d != nil {
		d.target = target
	}
}

// changed says from what to what.
func (d *deed) changed(before, after string) {
	if d != nil {
		d.before, d.after = before, after
	}
}

// says is the deed in one sentence.
func (d *deed) says(text string) {
	if d != nil {
		d.said = text
	}
}

// changesNothing takes the deed back: it only looked.
func (d *deed) changesNothing() {
	if d != nil {
		d.nothing = true
	}
}

// toRun does something to a run, and says what its rows were before and after: in the
// audit log, and as an event of the run.
func (d *deed) toRun(ctx context.Context, be *backend, run jobs.Run, do func() error) error {
	if d == nil {
		return do()
	}
	d.about("run " + run.Title())
	before, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	failed := do()
	after, err := be.store.Counts(context.WithoutCancel(ctx), run.ID)
	if err == nil {
		d.changed(countsLine(before), countsLine(after))
	}
	if failed != nil || after == before {
		return failed
	}
	return be.lim.Note(ctx, limiter.Event{Kind: scheduler.EventRun, Subject: run.ID, By: operator(),
		Text: fmt.Sprintf("run %s, %s: %s; before: %s", run.Title(), d.what, countsLine(after), countsLine(before))})
}
