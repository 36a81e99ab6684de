//go:build !race

package limiter

// racing is true under the race detector (race_on_test.go).
const racing = false
