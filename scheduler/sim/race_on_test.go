//go:build race

package sim

// racing is true under the race detector, where a night takes ten times as long.
const racing = true
