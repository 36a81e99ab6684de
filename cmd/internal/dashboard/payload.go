package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"nightshift/jobs"
)

// What a task list has room for.
const (
	maxFields   = 8    // of a row
	maxValue    = 160  // characters of a field
	maxForeign  = 1000 // characters of a payload that is not ours
	lookupFor   = 500 * time.Millisecond
	lookupPause = 5 * time.Second // after a lookup that failed
	maxRuns     = 200
)

// formatter says what a task is about. asynqmon calls it once for each task on
// a page.
type formatter struct {
	store *jobs.Store
	mask  bool
	now   func() time.Time
	rest  *rest
}

func newFormatter(cfg Config) *formatter {
	return &formatter{store: cfg.Store, mask: cfg.Contents != Plain, now: cfg.Now, rest: &rest{runs: map[string]jobs.Run{}}}
}

// shownRow is what a payload of ours looks like on asynqmon's pages: the row
// as its user knows it, and where the ledger has it.
type shownRow struct {
	Row    string     `json:"row"`
	Index  int64      `json:"row_index"`
	Run    string     `json:"run"`
	State  string     `json:"state,omitempty"`
	Fields shownField `json:"fields,omitempty"`
	Ended  string     `json:"ended,omitempty"`
	Note   string     `json:"note,omitempty"`
}

func (f *formatter) payload(taskType string, payload []byte) string {
	if taskType != jobs.TaskType {
		return f.foreign(payload)
	}
	var p jobs.Payload
	if err := json.Unmarshal(payload, &p); err != nil || p.Run == "" {
		return f.foreign(payload)
	}
	row := shownRow{Row: p.Row, Index: p.Index, Run: p.Run}
	if p.V > 1 {
		row.Note = fmt.Sprintf("written by a newer nightshift (payload version %d)", p.V)
	} else if f.store != nil {
		f.explain(&row, p)
	}
	return compact(row)
}

// explain adds what the run's ledger and store know.
func (f *formatter) explain(row *shownRow, p jobs.Payload) {
	if f.rest.until(f.now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupFor)
	defer cancel()
	info, err := f.store.Row(ctx, p.Run, p.Row)
	switch {
	case errors.Is(err, jobs.ErrNoRun):
		row.Note = "its run was purged; the task ends without a call"
		return
	case errors.Is(err, jobs.ErrNoRow):
		row.Note = "the row has left its run; the task ends without a call"
		return
	case err != nil:
		f.rest.failed(f.now())
		return
	}
	row.Run = f.rest.title(ctx, f.store, p.Run)
	row.State = stateWords(info, p)
	row.Fields = f.fields(info.Fields)
	row.Ended = f.ended(info)
}

// stateWords are the ledger's state in words that a page about "retries" does
// not give.
func stateWords(info jobs.RowInfo, p jobs.Payload) string {
	if info.Gen != p.Gen {
		return "replaced by a later attempt; this task ends without a call"
	}
	switch info.State {
	case jobs.Waiting:
		return "waiting (not a failure)"
	case jobs.RetryWait:
		return "failed for now, will be tried again"
	}
	return info.State.String()
}

func (f *formatter) ended(info jobs.RowInfo) string {
	r := info.Result
	switch {
	case r == nil || !info.State.Terminal():
		return ""
	case r.Error != nil && f.mask:
		return r.Status + ": " + r.Error.Cause
	case r.Error != nil:
		return cut(r.Status+": "+r.Error.Cause+": "+oneLine(r.Error.Message), maxValue)
	case f.mask:
		return r.Status
	}
	return cut(r.Status+": "+oneLine(r.Output), maxValue)
}

// result is for what a task wrote as its asynq result. Ours write none: their
// answers are with their run.
func (f *formatter) result(_ string, result []byte) string {
	if len(result) == 0 {
		return "none here: rows' answers come with `nightshift results RUN`"
	}
	return f.foreign(result)
}

// foreign is a payload that is not ours.
func (f *formatter) foreign(b []byte) string {
	switch {
	case len(b) == 0:
		return "(empty)"
	case f.mask:
		return fmt.Sprintf("(masked, %d bytes)", len(b))
	case !utf8.Valid(b) || bytes.ContainsFunc(b, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }):
		return fmt.Sprintf("(binary, %d bytes)", len(b))
	}
	return cut(string(b), maxForeign)
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
