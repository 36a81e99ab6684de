package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// sampleFile keeps the answers of a tenant's samples that were made with the embedded
// Redis: plan and run look for a row's key there.
func (l *loaded) sampleFile(s jobs.Spec) string {
	return filepath.Join(l.stateDir(), "samples", digest(s.Organization, s.Tenant, s.Team, s.API)+".jsonl")
}

// mostSamples bounds that file; the half that came last stays.
const mostSamples = 8 << 20

// trimSamples makes room in a file that has grown too large.
func trimSamples(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) <= mostSamples {
		return nil
	}
	if err != nil {
		return err
	}
	text = text[len(text)-mostSamples/2:]
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, text[bytes.IndexByte(text, '\n')+1:], 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// samples are what tried rows took, by their keys; nil where a shared Redis knows
// more. What cannot be read is no sample.
func (l *loaded) samples(s jobs.Spec) map[string]gemini.Usage {
	if l.Redis != "embedded" {
		return nil
	}
	text, err := os.ReadFile(l.sampleFile(s))
	if err != nil {
		return nil
	}
	out := map[string]gemini.Usage{}
	for line := range bytes.Lines(text) {
		var r jobs.Result
		if json.Unmarshal(line, &r) == nil && r.Usage != nil && jobs.ParseState(r.Status) == jobs.Done {
			out[r.Key] = usageOf(*r.Usage)
		}
	}
	return out
}

// answerLine is the beginning of an answer in one line, or why there is none.
func answerLine(r jobs.Result) string {
	switch {
	case r.Error != nil:
		return r.Error.Cause + ": " + r.Error.Message
	case r.Embedding != nil:
		return plural(len(r.Embedding), "number")
	}
	return strings.Join(strings.Fields(r.Output), " ")
}
