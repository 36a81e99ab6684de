//go:build unix

package jobs

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the file for this process alone until it is closed, also by
// the process's death.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// isNoSync says that the file is of a kind that cannot be synced: a pipe or a
// device.
func isNoSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
