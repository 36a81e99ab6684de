package cli

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestDashboardPausedRun: where somebody has paused a run, pages call it by its name, say
// what holds it without naming it again, and offer to resume it, not to pause it anew.
func TestDashboardPausedRun(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	for _, path := range []string{"/", "/runs"} {
		if page := visit(t, d, operates, path, nil).Body.String(); strings.Contains(page, "/do/resume") || !strings.Contains(page, "/do/pause") {
			t.Errorf("%s offers to resume a run that nobody has paused, or not to pause it", path)
		}
	}
	form := url.Values{"target": {s.run.ID}, "reason": {"a new prompt"}, "confirmed": {"yes"}}
	says(t, visit(t, d, operates, "/do/pause", form), http.StatusOK, "run night is paused")
	for _, path := range []string{"/", "/runs"} {
		page := visit(t, d, operates, path, nil)
		says(t, page, http.StatusOK, "paused by", "a new prompt", "Resume")
		for _, part := range strings.SplitAfter(page.Body.String(), "</form>") {
			if strings.Contains(part, "/do/pause") && strings.Contains(part, `value="`+s.run.ID+`"`) {
				t.Errorf("%s offers to pause it anew", path)
			}
		}
		if strings.Contains(pageWords(page), "run "+s.run.ID) {
			t.Errorf("%s calls it by its id\n%s", path, pageWords(page))
		}
	}
	says(t, visit(t, d, operates, "/", nil), http.StatusOK, "run night operator by")
}
