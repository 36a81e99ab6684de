package cli

import (
	"io"
	"strings"
	"time"

	"nightshift/cmd/internal/dashboard"
)

// asCommand is what a command is made with when somebody at the dashboard gives it:
// what it prints for people goes to w.
func (b *backend) asCommand(by dashboard.Viewer, w io.Writer) *factory {
	return &factory{streams: &streams{In: strings.NewReader(""), Out: w, Err: w}, now: time.Now, conf: b.conf, log: b.log, by: by.By()}
}

// as chooses the output.
func (f *factory) as(output string) *factory {
	f.opts.output = output
	return f
}

// operator is who gives the command, for pauses and events.
func (f *factory) operator() string { return orElse(f.by, operator()) }
