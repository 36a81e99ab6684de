//go:build race

package gemini_test

// racing is true under the race detector, where a test takes ten times as long:
// simulated hours are fewer there. All of them run without.
const racing = true
