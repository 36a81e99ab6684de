package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Draft is what earlier calls for a row brought that is worth keeping while it is
// tried again: what to ask for next, what was paid, and the end that the row has
// if nothing better comes. It is of one generation of the row.
type Draft struct {
	Tries map[string]int `json:"tries,omitempty"` // bad answers so far, by cause
	Extra int            `json:"extra,omitempty"` // further calls that are no attempts: asked again, with a larger cap, hotter, the rest

	Reasked int    `json:"reasked,omitempty"` // how often it was asked again with its fault said
	Fault   string `json:"fault,omitempty"`   // what was wrong with Said
	Said    string `json:"said,omitempty"`    // the last answer that broke the schema, perhaps cut
	Raw     string `json:"raw,omitempty"`     // the first one, whole

	Cap   int32  `json:"cap,omitempty"`   // the output cap to ask with; 0: the run's
	Hot   bool   `json:"hot,omitempty"`   // ask with a higher temperature
	Token []byte `json:"token,omitempty"` // ask for the rest of an answer that has begun with Head
	Head  string `json:"head,omitempty"`
	Parts int    `json:"parts,omitempty"` // how many parts Head has

	Status string    `json:"status,omitempty"` // the end to fall back upon, with what was said
	Error  *RowError `json:"error,omitempty"`
	Output string    `json:"output,omitempty"`
	Finish string    `json:"finish,omitempty"`
	Model  string    `json:"model,omitempty"`

	Usage    *Usage `json:"usage,omitempty"` // of all calls so far
	MicroUSD *int64 `json:"micro_usd,omitempty"`
}

// SaveDraft keeps a row's draft in place of the one before.
func (s *Store) SaveDraft(ctx context.Context, t Task, d Draft) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return s.rdb.HSet(ctx, draftKey(t.Run), t.Index, strconv.Itoa(t.Gen)+"\n"+string(b)).Err()
}

// Draft gives what is kept of a row; an empty one where nothing is, or only of
// another generation.
func (s *Store) Draft(ctx context.Context, t Task) (Draft, error) {
	var d Draft
	v, err := s.rdb.HGet(ctx, draftKey(t.Run), strconv.FormatInt(t.Index, 10)).Result()
	if err := orNil(err); err != nil {
		return d, err
	}
	gen, text, _ := strings.Cut(v, "\n")
	if gen != strconv.Itoa(t.Gen) {
		return d, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Draft{}, fmt.Errorf("row %s: what earlier calls brought cannot be read: %w", t.ID(), err)
	}
	return d, nil
}

// DropDraft forgets a row's draft: it has its end.
func (s *Store) DropDraft(ctx context.Context, t Task) error {
	return s.rdb.HDel(ctx, draftKey(t.Run), strconv.FormatInt(t.Index, 10)).Err()
}

// orNil takes Redis's "no such field" for what it is.
func orNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// Add sums usage up; nil is none.
func (u *Usage) Add(o *Usage) *Usage {
	switch {
	case o == nil:
		return u
	case u == nil:
		sum := *o
		return &sum
	}
	return &Usage{Prompt: u.Prompt + o.Prompt, Cached: u.Cached + o.Cached, Output: u.Output + o.Output,
		Thoughts: u.Thoughts + o.Thoughts, ToolUse: u.ToolUse + o.ToolUse, Total: u.Total + o.Total}
}
