package jobs

import "testing"

// TestOverWords: a size over the limit and the limit are in one unit, and never read
// as the same.
func TestOverWords(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64][2]string{
		MaxAttachments + 1: {"14,942,209 bytes", "14,942,208 bytes"},
		15_000_000:         {"15,000,000 bytes", "14,942,208 bytes"},
		30 << 20:           {"30 MiB", "14 MiB"},
	} {
		if has, most := overWords(size); has != want[0] || most != want[1] {
			t.Errorf("%d: %s of %s, want %s of %s", size, has, most, want[0], want[1])
		}
	}
}
