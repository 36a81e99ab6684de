//go:build !unix

package jobs

import "os"

// lockFile does nothing where there is no flock: two writers of one file are
// not noticed there.
func lockFile(*os.File) error { return nil }

func isNoSync(error) bool { return false }
