package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var (
	anID    = regexp.MustCompile(`\bid="([^"]+)"`)
	aLabel  = regexp.MustCompile(`(<span class="pair">)?<label for="([^"]+)">`)
	aFilter = regexp.MustCompile(`(?s)<form class="filter".*?</form>`)
)

// TestFormsOfPages: nothing on a page is called as something else there (a script would
// write into the wrong one), and in a form each label stands with its field, whatever
// the width.
func TestFormsOfPages(t *testing.T) {
	t.Parallel()
	d := runPagesDashboard(t, nil)
	for _, path := range []string{"/", "/history", "/who", "/runs", "/runs/nightly", "/steer"} {
		w := ask(t, d, http.MethodGet, path, as(testToken))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d", path, w.Code)
		}
		page, seen := w.Body.String(), map[string]bool{}
		for _, m := range anID.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: two things are called %s", path, m[1])
			}
			seen[m[1]] = true
		}
		for _, form := range aFilter.FindAllString(page, -1) {
			for _, m := range aLabel.FindAllStringSubmatch(form, -1) {
				if m[1] == "" || !strings.Contains(form, `id="`+m[2]+`"`) {
					t.Errorf("%s: the label of %s may part from its field", path, m[2])
				}
			}
		}
	}
}
