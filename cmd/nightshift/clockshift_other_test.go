//go:build !linux || !amd64

package main

import (
	"errors"
	"time"
)

// shiftClock is for Linux on amd64 (clockshift_linux_amd64_test.go).
func shiftClock(time.Duration) error {
	return errors.New("this machine's clock cannot be shifted for one process")
}
