package main

import (
	"fmt"
	"os"
	"time"
)

// clockVar says by how much the wall clock of a command of a test is wrong ("-90s").
const clockVar = "CHAOS_CLOCK_AHEAD"

// onWrongClock runs a command, on a host whose clock is wrong when a test says so.
func onWrongClock(main func() int) int {
	text := os.Getenv(clockVar)
	if text == "" {
		return main()
	}
	ahead, err := time.ParseDuration(text)
	if err == nil {
		err = shiftClock(ahead)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return main()
}
