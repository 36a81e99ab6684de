package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// TaskType is the asynq type of a row's task.
const TaskType = "nightshift:row"

// Task identifies one generation of one row's job. A handler that holds an
// older generation than the ledger's ends without a call.
type Task struct {
	Run   string
	Index int64 // the row's place in the run's ledger; rows keep theirs for the life of the run
	Gen   int   // raised by retry and cancel
}

// ID is the asynq task id: zero-padded, since asynq orders jobs of one second
// by id (facts/asynq 1.5).
func (t Task) ID() string { return fmt.Sprintf("%s-%08d-%d", t.Run, t.Index, t.Gen) }

// ParseTaskID reads what ID wrote.
func ParseTaskID(id string) (Task, error) {
	p := strings.Split(id, "-")
	if len(p) == 3 {
		n, err1 := strconv.ParseInt(p[1], 10, 64)
		g, err2 := strconv.Atoi(p[2])
		if err1 == nil && err2 == nil && p[0] != "" && n >= 0 && g >= 0 {
			return Task{Run: p[0], Index: n, Gen: g}, nil
		}
	}
	return Task{}, fmt.Errorf("task id %q: want run-index-generation", id)
}

// Payload is what a task carries: the row, not the template, which the run
// record has. It stays readable in asynqmon.
type Payload struct {
	V      int             `json:"v"` // 1
	Run    string          `json:"run"`
	Index  int64           `json:"n"`
	Gen    int             `json:"gen,omitempty"`
	Row    string          `json:"row"`              // the row id the user knows
	Fields json.RawMessage `json:"fields,omitempty"` // the row's fields as one JSON object, in the file's order, numbers as they stand there
	Blob   string          `json:"blob,omitempty"`   // where the fields are when they are too long to be copied at each step
}
