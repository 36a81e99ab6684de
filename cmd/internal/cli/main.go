// Package cli is nightshift's command tree, one file a command. It is the only
// place that reads flags, files and the environment, and the only one that
// wires the packages below together.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// The exit codes. Scripts and cron lines rely on them.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitRowsFailed   = 3 // the run finished, some rows have no good answer
	exitStopped      = 4 // stopped by a cap or a brake
	exitDeadline     = 5
	exitInvalidInput = 6   // nothing was enqueued
	exitTimeout      = 124 // wait has waited as long as it was told to; timeout(1) has the same
	exitInterrupted  = 130
)

// codedError carries the exit code of an error that has one of its own.
type codedError struct {
	code int
	err  error // nil: the code says it all, what there is to say was printed
}

func (e *codedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *codedError) Unwrap() error { return e.err }

// usageError says that the command line is wrong; only it prints the usage.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(format string, a ...any) error { return &usageError{fmt.Errorf(format, a...)} }

// Main runs one command line and gives the exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	// The first signal asks for a graceful end; with the context done, the
	// default action is back and a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	redis.SetLogger(redisLog{})
	s := &streams{In: in, Out: out, Err: errOut}
	root := newRootCmd(s)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return s.fail(cmd, err, ctx.Err() != nil)
}
