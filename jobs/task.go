package jobs

import (
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
// by id.
func (t Task) ID() string { return fmt.Sprintf("%s-%08d-%d", t.Run, t.Index, t.Gen) }

// ParseTaskID reads what ID wrote, and nothing else: a task has one id.
func ParseTaskID(id string) (Task, error) {
	p := strings.Split(id, "-")
	if len(p) == 3 {
		n, err1 := strconv.ParseInt(p[1], 10, 64)
		g, err2 := strconv.Atoi(p[2])
		t := Task{Run: p[0], Index: n, Gen: g}
		if err1 == nil && err2 == nil && p[0] != "" && t.ID() == id {
			return t, nil
		}
	}
	return Task{}, fmt.Errorf("task id %q: want run-index-generation", id)
}

// Payload is what a task carries: which row it is, not the row, which asynq
// would copy at each step and lose when someone deletes the task. The row's
// fields are in the run's store and come with Begin. It stays readable in
// asynqmon.
type Payload struct {
	V     int    `json:"v"` // 1
	Run   string `json:"run"`
	Index int64  `json:"n"`
	Gen   int    `json:"gen,omitempty"`
	Row   string `json:"row"` // the row id the user knows
}
