package worker

import (
	"strings"
	"testing"
)

// TestDisagree: another worker of the project with other limits is named; the
// same limits, another project's worker and one that does not say are not.
func TestDisagree(t *testing.T) {
	t.Parallel()
	me := WorkerInfo{ID: "a:1:x", Project: "p", Limits: "0123456789"}
	fleet := []WorkerInfo{
		me,
		{ID: "b:2:x", Host: "b", PID: 2, Project: "p", Limits: "abcdefghij"},
		{ID: "c:3:x", Project: "p", Limits: me.Limits},
		{ID: "d:4:x", Project: "other", Limits: "abcdefghij"},
		{ID: "e:5:x", Project: "p"},
	}
	got := me.Disagree(fleet)
	if len(got) != 1 || !strings.Contains(got[0], "b:2:x (pid 2 on b") || !strings.Contains(got[0], "(abcdefgh)") || !strings.Contains(got[0], "(01234567)") {
		t.Errorf("got %q", got)
	}
	if got := (WorkerInfo{ID: "z", Project: "p"}).Disagree(fleet); got != nil {
		t.Errorf("a worker that does not know its own limits says %q", got)
	}
}
