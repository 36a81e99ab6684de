//go:build !linux

package limiter

import (
	"os/exec"
	"testing"
)

// withoutZoneFiles can hide no files here.
func withoutZoneFiles(_ *testing.T, args []string) *exec.Cmd {
	return exec.Command(args[0], args[1:]...)
}
