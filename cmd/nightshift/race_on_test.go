//go:build race

package main

// racing is true under the race detector, where a test takes ten times as long:
// random histories and simulated nights are fewer there. All of them run without.
const racing = true
