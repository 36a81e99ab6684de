package jobs

import "testing"

// TestCheckEncoding: a name that stands for nothing is refused before anything is written.
func TestCheckEncoding(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": true, "UTF-8": true, "cp932": true, "utf-16": true, "nonsense": false} {
		if err := CheckEncoding(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
