//go:build race

package main

// racing is true under the race detector, where a row takes several times as long:
// fewer are worked there.
const racing = true
