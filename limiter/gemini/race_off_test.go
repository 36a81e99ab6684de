//go:build !race

package gemini_test

// racing is true under the race detector (race_on_test.go).
const racing = false
