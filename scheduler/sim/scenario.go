package sim

import (
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// Scenario is one night. Check fills what was left out.
type Scenario struct {
	Name     string        `yaml:"name"`
	About    string        `yaml:"about"` // a sentence for those who read the result
	Seed     uint64        `yaml:"seed"`
	Start    string        `yaml:"start"`    // "2026-03-02 22:00" in zone; a Monday evening
	Zone     string        `yaml:"zone"`     // of start and of times of day; default UTC
	Duration time.Duration `yaml:"duration"` // at most 48h; bulk that is not done then counts as not done

	Limits  Limits             `yaml:"limits"`  // as nightshift is configured with
	Outside *float64           `yaml:"outside"` // share that is left for calls past the gate; default 0.05
	Lend    string             `yaml:"lend"`    // auto, now or never; default auto
	Classes map[string]Class   `yaml:"classes"` // changes to the default table
	Weights map[string]int64   `yaml:"weights"` // of tenants and priorities
	Nodes   map[string]NodeCap `yaml:"nodes"`   // limits of tenants

	Provider Provider  `yaml:"provider"`
	Traffic  []Traffic `yaml:"traffic"`
	Bulk     []Bulk    `yaml:"bulk"`
	Workers  Workers   `yaml:"workers"`
	Policies []string  `yaml:"policies"` // default: all

	start time.Time
	zone  *time.Location
}

// Limits are the model's, as the configuration has them; absent means none.
type Limits struct {
	RPM         int64 `yaml:"rpm"`
	InputTPM    int64 `yaml:"input_tpm"`
	OutputTPM   int64 `yaml:"output_tpm"`
	RPD         int64 `yaml:"rpd"`
	Concurrency int64 `yaml:"concurrency"`
}

func (l Limits) limits() limiter.Limits {
	return limiter.Limits{RPM: l.RPM, InputTPM: l.InputTPM, OutputTPM: l.OutputTPM, RPD: l.RPD, Concurrency: l.Concurrency}
}

// NodeCap are the limits of a tenant.
type NodeCap struct {
	RPM      int64 `yaml:"rpm"`
	InputTPM int64 `yaml:"input_tpm"`
}

// Class changes a class of the default table.
type Class struct {
	Guarantee *float64       `yaml:"guarantee"`
	Floor     *float64       `yaml:"floor"`
	MaxWait   *time.Duration `yaml:"max_wait"`
}

// Provider is what Gemini does.
type Provider struct {
	Limits   geminitest.Limits   `yaml:"limits"`   // default: limits
	Counting geminitest.Counting `yaml:"counting"` // sliding_minute (default), fixed_minute or token_bucket
	Latency  geminitest.Latency  `yaml:"latency"`  // default: 560ms and 4ms a token, lively: healthy by DefaultThresholds
	Spend    geminitest.Spend    `yaml:"spend"`
	Price    geminitest.Price    `yaml:"price"`
	Faults   []string            `yaml:"faults"` // as gemini-sim takes them: "503=1%", "429-month@2h-"
}

// Traffic are calls of which each has somebody who waits.
type Traffic struct {
	Name     string   `yaml:"name"`
	Class    string   `yaml:"class"` // default interactive
	Tenant   string   `yaml:"tenant"`
	Arrivals Arrivals `yaml:"arrivals"`
	Size     `yaml:",inline"`
}

// Arrivals say how many come. What is given adds up.
type Arrivals struct {
	RPM    float64            `yaml:"rpm"`    // all the time
	Hours  map[string]float64 `yaml:"hours"`  // time of day → rpm, in straight lines between them, from day to day
	Spikes []Spike            `yaml:"spikes"` //
	Even   bool               `yaml:"even"`   // at even distances, instead of by chance (Poisson)
	Replay string             `yaml:"replay"` // a directory of call records: the calls of the class, as they came

	recorded []person
}

// Spike is more for a while.
type Spike struct {
	RPM   float64       `yaml:"rpm"`
	From  string        `yaml:"from"`  // time of day
	Until string        `yaml:"until"` // time of day; default from + for
	Every time.Duration `yaml:"every"` // again and again until then; absent: once
	For   time.Duration `yaml:"for"`   // how long each lasts
	// Unseen spikes come in this night and not in the week that was learned.
	Unseen bool `yaml:"unseen"`
}

// Bulk are rows that can wait.
type Bulk struct {
	Name     string           `yaml:"name"`
	Class    string           `yaml:"class"` // default bulk
	Tenant   string           `yaml:"tenant"`
	Rows     int              `yaml:"rows"`
	At       time.Duration    `yaml:"at"` // when they are enqueued, after the start
	Priority limiter.Priority `yaml:"priority"`
	Size     `yaml:",inline"`
}

// Size is how large calls are.
type Size struct {
	Input  Tokens `yaml:"input_tokens"`
	Output Tokens `yaml:"output_tokens"`
}

// Tokens are drawn for each call: log-normal around the median.
type Tokens struct {
	Median int64   `yaml:"median"`
	Sigma  float64 `yaml:"sigma"` // 0: always the median; 0.5 is lively
	Most   int64   `yaml:"most"`  // none is larger; 0: no bound
}

// Workers are the fleet that makes bulk's calls.
type Workers struct {
	Processes   int `yaml:"processes"`   // default 2
	Concurrency int `yaml:"concurrency"` // calls at once in each; default 32
	Attempts    int `yaml:"attempts"`    // real failures before a row fails; default 5
}
