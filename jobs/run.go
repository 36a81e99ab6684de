package jobs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind is what a run asks of the model.
type Kind string

// The kinds of run.
const (
	Generate Kind = "generate" // generateContent: the rendered template is the prompt
	Embed    Kind = "embed"    // embedContent: the rendered template is the text
)

// Priority chooses the queue of a run's rows.
type Priority string

// The priorities, from first to last.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Priorities lists them from first to last.
var Priorities = []Priority{High, Normal, Low}

// Spec is how a run is made: what Enqueue records and what a change is judged
// against. Everything in it that changes an answer is part of a row's key.
type Spec struct {
	Name     string `json:"name,omitempty"`
	Kind     Kind   `json:"kind"`
	Model    string `json:"model"` // as the user wrote it
	Lane     string `json:"lane"`  // provider/project/region/bucket: where its calls count
	Template string `json:"template"`
	System   string `json:"system,omitempty"` // a template too
	// Turns is a conversation in Template's place; Outputs are several answers a row
	// in the place of both. Lines says that rows are requests already: LinesOpenAI or
	// LinesGemini.
	Turns    []TurnTemplate `json:"turns,omitempty"`
	Outputs  []Output       `json:"outputs,omitempty"`
	Lines    string         `json:"lines,omitempty"`
	Settings Settings       `json:"settings"`

	// API is where the answers come from, when that is not the usual place: a
	// simulation, or another address. Runs take over no answers from another one.
	API          string   `json:"api,omitempty"`
	Feature      string   `json:"feature"`
	Class        string   `json:"class"` // "bulk"
	Organization string   `json:"organization,omitempty"`
	Tenant       string   `json:"tenant,omitempty"`
	Team         string   `json:"team,omitempty"`
	Priority     Priority `json:"priority"`

	IDColumn string `json:"id_column"` // the column that identifies a row
	Matrix   []Axis `json:"matrix,omitempty"`
	Attempts int    `json:"attempts"` // real failures before a row fails; default 5
	// MaxWait bounds how long a row may wait from when it was enqueued, for
	// whatever: then it ends as expired, without a call. 0: it waits for ever.
	// It is no part of what makes an answer, so that changing it redoes nothing.
	MaxWait time.Duration `json:"max_wait,omitempty"`
	// OtherModel may answer rows that would have to wait long for Model. It is no
	// part of what makes an answer either; Result.Instead marks what it answered.
	OtherModel string `json:"other_model,omitempty"`

	// Sample marks a run of rows that were tried before the whole input is enqueued.
	Sample bool `json:"sample,omitempty"`

	// What is done about answers that cannot be used, and about many of them. None
	// of it is part of what makes an answer.
	Reask  int    `json:"reask,omitempty"`  // how often an answer that breaks the schema is asked for again, with its fault said
	Regrow bool   `json:"regrow,omitempty"` // one that reached the output cap is asked for once more, with twice the cap
	Halt   string `json:"halt,omitempty"`   // when the run stops by itself: see ParseHalt; "" is the default

	Steer Steering `json:"steer,omitzero"` // how it goes on, which may change while it does
	// Given are the settings that the user gave, of those that may change later, by
	// the names of their flags; the others are the configuration's.
	Given []string `json:"-"`
}

// Axis is one --matrix dimension: each row is made once for each value, which
// the template sees as a field and the row id carries as "id/value".
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Settings are the generation settings; nil and zero leave the model's default.
type Settings struct {
	Temperature      *float32        `json:"temperature,omitempty" yaml:"temperature"`
	TopP             *float32        `json:"top_p,omitempty" yaml:"top_p"`
	TopK             *float32        `json:"top_k,omitempty" yaml:"top_k"`
	MaxOutputTokens  int32           `json:"max_output_tokens,omitempty" yaml:"max_output_tokens"`
	Seed             *int32          `json:"seed,omitempty" yaml:"seed"`
	StopSequences    []string        `json:"stop_sequences,omitempty" yaml:"stop_sequences"`
	PresencePenalty  *float32        `json:"presence_penalty,omitempty" yaml:"presence_penalty"`
	FrequencyPenalty *float32        `json:"frequency_penalty,omitempty" yaml:"frequency_penalty"`
	ThinkingBudget   *int32          `json:"thinking_budget,omitempty" yaml:"thinking_budget"`
	ResponseMIMEType string          `json:"response_mime_type,omitempty" yaml:"response_mime_type"`
	ResponseSchema   json.RawMessage `json:"response_schema,omitempty" yaml:"-"`     // JSON Schema; answers that break it are not successes
	TaskType         string          `json:"task_type,omitempty" yaml:"task_type"`   // embeddings only
	Dimensions       int32           `json:"dimensions,omitempty" yaml:"dimensions"` // embeddings only
}

// Run is one recorded run: an input × a template × a model configuration.
type Run struct {
	ID      string    `json:"id"` // sorts by time of creation; no '-', so that task ids split
	Spec    Spec      `json:"spec"`
	Input   string    `json:"input"`              // the input's name as given
	LeftOut int64     `json:"left_out,omitempty"` // rows of the input that were bad, and are not in the run
	LeftIn  string    `json:"left_in,omitempty"`  // the file that they were written to, as it was named; "" for none
	Dropped int64     `json:"dropped,omitempty"`  // rows that it had until an update's input was without them
	Digest  string    `json:"digest"`             // of the settings and template, to notice a change
	Rows    int64     `json:"rows"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`

	// Changes counts the changes of what may change while it goes on, so that workers
	// see each; Set says where settings come from that are not the configuration's, by
	// the names of their flags.
	Changes int64            `json:"changes,omitempty"`
	Set     map[string]SetBy `json:"set,omitempty"`

	// Planned is what the run was expected to need; nil where nobody said. It is kept
	// beside the record: what steers a run never writes it.
	Planned *Planned `json:"-"`
}

// Stamp tells apart what workers go by: the digest of what makes the answers, and
// what is done about bad ones. Begun.Digest is the run's, now.
func (r Run) Stamp() string {
	s := r.Digest
	if r.Spec.Reask > 0 {
		s += fmt.Sprintf("+reask%d", r.Spec.Reask)
	}
	if r.Spec.Regrow {
		s += "+regrow"
	}
	if r.Spec.Steer.ServiceTier != "" {
		s += "+" + r.Spec.Steer.ServiceTier
	}
	if r.Changes > 0 {
		s += fmt.Sprintf("+%d", r.Changes)
	}
	return s
}

// maxName is a run's longest name, in characters: it stands in tables and is
// typed in commands.
const maxName = 100

// CheckName says what is wrong with a run's name; "" is none and good. A name is
// an argument of commands, so that it may not look like a flag.
func CheckName(name string) error {
	switch {
	case strings.HasPrefix(name, "-"), strings.HasPrefix(name, "="):
		return fmt.Errorf("a run's name may not begin with %q: %.100q", name[:1], name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("a run's name may not begin or end with a space: %.100q", name)
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("a run's name may not have control characters or line breaks in it: %.100q", name)
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("a run's name may have %d characters, this one has %d", maxName, utf8.RuneCountInString(name))
	}
	return nil
}

// Title is the run's name, or its id where it has none.
func (r Run) Title() string {
	if r.Spec.Name != "" {
		return r.Spec.Name
	}
	return r.ID
}

// Queue is the asynq queue of a lane's rows of one priority. One server serves
// one lane, since asynq fixes a server's queues when it is made.
func Queue(p Priority, lane string) string { return "bulk-" + string(p) + "." + QueueSuffix(lane) }

// SampleQueue is the queue of a lane's samples: only the process that tries a sample
// serves its rows, and it serves no others.
func SampleQueue(lane string) string { return "bulk-high.sample:" + QueueSuffix(lane) }

// Queues are all queues of a lane.
func Queues(lane string) []string {
	var names []string
	for _, p := range Priorities {
		names = append(names, Queue(p, lane))
	}
	return append(names, SampleQueue(lane))
}

// Queue is where the tasks of a run's rows are.
func (s Spec) Queue() string {
	if s.Sample {
		return SampleQueue(s.Lane)
	}
	return Queue(s.Priority, s.Lane)
}

// QueueSuffix names a lane in queue names: "project.model" for the usual lane
// gemini/project/global/model; what differs from the usual is added. No '/',
// which asynqmon's paths cannot carry.
func QueueSuffix(lane string) string {
	p := strings.SplitN(lane, "/", 4)
	if len(p) != 4 {
		return strings.ReplaceAll(lane, "/", ".")
	}
	s := p[1] + "." + p[3]
	if p[2] != "global" {
		s += "@" + p[2]
	}
	if p[0] != "gemini" {
		s = p[0] + ":" + s
	}
	return s
}
