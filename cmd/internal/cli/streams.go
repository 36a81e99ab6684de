package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// streams are where a command reads and writes: data on Out, progress and
// messages on Err.
type streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// say writes a line for the person at the keyboard.
func (s *streams) say(format string, a ...any) { fmt.Fprintf(s.Err, format+"\n", a...) }

// terminal says whether w is one: progress bars are drawn only there.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fail prints what a command ended with and gives the exit code.
func (s *streams) fail(cmd *cobra.Command, err error, interrupted bool) int {
	var coded *codedError
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		if coded.err != nil {
			s.say("nightshift: %v", coded.err)
		}
		return coded.code
	case interrupted:
		s.say("nightshift: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		s.say("nightshift: %v\nusage: %s\n`%s --help` explains it", err, cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}
	s.say("nightshift: %v", err)
	return exitError
}
