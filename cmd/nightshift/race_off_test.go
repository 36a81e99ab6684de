//go:build !race

package main

// racing is true under the race detector (race_on_test.go).
const racing = false
