package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nightshift/jobs"
)

// answersFile lists the results files that runs with the embedded Redis wrote: it
// ends with its process, so that these files are all that is left to take answers
// from.
const answersFile = "answers.json"

// mostAnswers bounds the list; the oldest go.
const mostAnswers = 200

// answersEntry is one results file and for whom it was made.
type answersEntry struct {
	Path   string    `json:"path"`
	Tenant string    `json:"tenant,omitempty"` // the whole path
	API    string    `json:"api,omitempty"`
	At     time.Time `json:"at"`
}

func (l *loaded) readAnswers() ([]answersEntry, error) {
	b, err := os.ReadFile(filepath.Join(l.stateDir(), answersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []answersEntry
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	return list, err
}

func tenantPath(s jobs.Spec) string { return s.Organization + "/" + s.Tenant + "/" + s.Team }

// answerFiles are the results files that a run like this may take answers from,
// the latest first. A list that cannot be read is as good as none.
func (l *loaded) answerFiles(s jobs.Spec) []string {
	list, err := l.readAnswers()
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range slices.Backward(list) {
		if e.Tenant == tenantPath(s) && e.API == s.API {
			out = append(out, e.Path)
		}
	}
	return out
}

// rememberAnswers adds a results file to the list. Callers hold the embedded
// Redis, of which there is one at a time.
func (l *loaded) rememberAnswers(s jobs.Spec, path string, now time.Time) error {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil // a pipe or standard output cannot be read again
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	list, err := l.readAnswers()
	if err != nil {
		list = nil
	}
	list = slices.DeleteFunc(list, func(e answersEntry) bool {
		_, err := os.Stat(e.Path)
		return e.Path == path && e.Tenant == tenantPath(s) || errors.Is(err, fs.ErrNotExist)
	})
	list = append(list, answersEntry{Path: path, Tenant: tenantPath(s), API: s.API, At: now})
	return writeJSON(filepath.Join(l.stateDir(), answersFile), list[max(len(list)-mostAnswers, 0):])
}
