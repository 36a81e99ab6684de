package cli

import (
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/scheduler"
)

// Config is the complete shape of nightshift.yaml. Every key may also be set by
// an environment variable, NIGHTSHIFT_ and the path in capitals with '_'
// (NIGHTSHIFT_WORKER_CONCURRENCY); a command's flag wins over both.
type Config struct {
	Redis    string `yaml:"redis"`     // "embedded" or a URL: redis://, rediss://, redis-sentinel://, redis-cluster://
	StateDir string `yaml:"state_dir"` // lock, state file, call records and spool; default the user's state directory

	Gemini  GeminiConfig           `yaml:"gemini"`
	Models  map[string]ModelConfig `yaml:"models"`
	Classes map[string]ClassConfig `yaml:"classes"` // changes to the default table
	Nodes   map[string]NodeConfig  `yaml:"nodes"`   // limits beside the models': "tenant/acme", "feature/chat"; "tenant/*" of each tenant that is not named
	Weights map[string]int64       `yaml:"weights"` // of those who wait: "priority/high", "tenant/acme"

	Routes map[string]string `yaml:"routes"` // name that clients may send → the model that answers
	Moves  []MoveConfig      `yaml:"moves"`  // calls that go to another model than they name
	Ramps  RampsConfig       `yaml:"ramps"`  // how moves by ramp go on

	Run       RunConfig       `yaml:"run"`
	Worker    WorkerConfig    `yaml:"worker"`
	Scheduler SchedulerConfig `yaml:"scheduler"`
	Records   RecordsConfig   `yaml:"records"`

	Features []string          `yaml:"features"` // the features that there are; others are refused. Absent: any
	Health   HealthConfig      `yaml:"health"`   // when interactive callers suffer, and what follows
	Windows  map[string]string `yaml:"windows"`  // class → "22:00-07:00@100%, else @10%", in time_zone
	// WindowRamp is how long a window takes to open. Default 2m; 0 opens it at once.
	WindowRamp *time.Duration  `yaml:"window_ramp"`
	Gateway    GatewayConfig   `yaml:"gateway"`   //
	Degrade    DegradeConfig   `yaml:"degrade"`   // what those who wait get when there is no answer for them
	Dashboard  DashboardConfig `yaml:"dashboard"` //

	Hooks  []HookConfig `yaml:"hooks"`  // who is told what happens to runs
	Report ReportConfig `yaml:"report"` // where each run's report is sent

	Spend     SpendConfig     `yaml:"spend"`     // what all models together may cost, and the soft part of each cap
	Reuse     string          `yaml:"reuse"`     // how old an answer may be that a row takes over whose question is the same: 30d, or off. Default 30d
	Retention RetentionConfig `yaml:"retention"` // how long runs are kept once they have ended

	Schedules []ScheduleConfig `yaml:"schedules"` // runs that come again
	Metrics   ListenConfig     `yaml:"metrics"`   // where every process serves /metrics, /healthz and /readyz whose section does not say otherwise
	Log       LogConfig        `yaml:"log"`       // of the processes that go on running
	Telemetry TelemetryConfig  `yaml:"telemetry"` // where traces go
	Alerts    AlertsConfig     `yaml:"alerts"`    // from when on somebody is told that something needs a look, and who
	TimeZone  string           `yaml:"time_zone"` // of months and windows; days are always Pacific. Default America/Los_Angeles
}

// GeminiConfig says how the provider is reached. The key itself never stands
// in the file: it comes from the environment or from a file of its own.
type GeminiConfig struct {
	Project    string `yaml:"project"`      // our name of the provider's project; limits are counted for it
	Region     string `yaml:"region"`       // default global
	API        string `yaml:"api"`          // "live", "vertex" or "simulated"
	BaseURL    string `yaml:"base_url"`     // default the public endpoint
	APIKeyEnv  string `yaml:"api_key_env"`  // name of the variable that holds the key; default GEMINI_API_KEY
	APIKeyFile string `yaml:"api_key_file"` // or a file that holds it

	Vertex VertexConfig `yaml:"vertex"` // for api: vertex
}

// ModelConfig gives a model's limits as AI Studio shows them for the project;
// Google publishes no numbers, so there is no default.
type ModelConfig struct {
	LimitConfig   `yaml:",inline"`
	Aliases       []string `yaml:"aliases"`        // other names that count in the same bucket
	OutputTokens  int64    `yaml:"output_tokens"`  // the most that one answer may have, thinking included; a run's cap grows no further. Default the price book's, or 65536
	ContextTokens int64    `yaml:"context_tokens"` // longest input; a longer row is refused before it costs anything. Default 1048576
	Outside       *float64 `yaml:"outside"`        // share left for calls that bypass the gate; default 0.05
	Lend          string   `yaml:"lend"`           // auto, now or never; default auto
	Shadow        []string `yaml:"shadow"`         // limits that decide and report, and refuse nothing
}

// NodeConfig gives the limits of a node of a path, over all models: an
// organization, tenant, team, key, feature or run.
type NodeConfig struct {
	LimitConfig `yaml:",inline"`
	Shadow      []string `yaml:"shadow"` // limits that decide and report, and refuse nothing
}

// LimitConfig is a set of limits by shorthand; absent means none.
type LimitConfig struct {
	RPM         int64   `yaml:"rpm"`
	InputTPM    int64   `yaml:"input_tpm"`
	OutputTPM   int64   `yaml:"output_tpm"`
	TotalTPM    int64   `yaml:"total_tpm"`
	IPM         int64   `yaml:"ipm"`
	RPD         int64   `yaml:"rpd"`
	TPD         int64   `yaml:"tpd"`
	Concurrency int64   `yaml:"concurrency"`
	Streams     int64   `yaml:"streams"`
	USDPer10m   float64 `yaml:"usd_per_10m"`
	USDPerDay   float64 `yaml:"usd_per_day"`
	USDPerMonth float64 `yaml:"usd_per_month"`
	USDTotal    float64 `yaml:"usd_total"` // for good: it never begins anew
}

// ClassConfig changes a class of the default table; absent keys keep its value.
type ClassConfig struct {
	Guarantee   *float64 `yaml:"guarantee"`    // share it may always claim while it has traffic
	Floor       *float64 `yaml:"floor"`        // share that is free for it at any moment
	Trickle     *float64 `yaml:"trickle"`      // share it may always use, so that it never starves
	Cap         *float64 `yaml:"cap"`          // share of each minute's limit that it may use at most
	OutputFloor *float64 `yaml:"output_floor"` // share of output tokens that is free for it at any moment
	// OutputQuantile is the part of calls whose output stays within what is
	// charged for them at first, once it is learned; above 0 and below 1.
	OutputQuantile *float64       `yaml:"output_quantile"`
	MaxWait        *time.Duration `yaml:"max_wait"`
	MaxStream      *time.Duration `yaml:"max_stream"` // how long a stream may last; default 10m
	Pausable       *bool          `yaml:"pausable"`
}

// RunConfig has the defaults of run, plan and enqueue.
type RunConfig struct {
	Model    string `yaml:"model"`
	Feature  string `yaml:"feature"`
	Tenant   string `yaml:"tenant"` // tenant, tenant/team or organization/tenant/team
	Priority string `yaml:"priority"`
	IDColumn string `yaml:"id_column"`
	Encoding string `yaml:"encoding"`

	ServiceTier string `yaml:"service_tier"` // flex, standard, priority or auto; default the API's own, standard

	Reask int    `yaml:"reask"` // how often an answer that breaks the schema is asked for again; default 1
	Grow  bool   `yaml:"grow"`  // ask once more, with twice the cap, when an answer reaches max_output_tokens
	Halt  string `yaml:"halt"`  // when a run stops by itself: "fail=20%/200", "same=50", both, or off; default same=50
}

// WorkerConfig is what a worker process does at once.
type WorkerConfig struct {
	Concurrency int           `yaml:"concurrency"`  // calls in flight for each lane and process; default 32
	Attempts    int           `yaml:"attempts"`     // real failures before a row fails; default 5
	CallTimeout time.Duration `yaml:"call_timeout"` // of one call; default 2m
	FlexTimeout time.Duration `yaml:"flex_timeout"` // of one call by the flex tier, which may take that long; default 15m
	Metrics     string        `yaml:"metrics"`      // address of its /metrics; default metrics.listen. Off: none
}

// SchedulerConfig is what only the scheduler's process needs.
type SchedulerConfig struct {
	Metrics string `yaml:"metrics"` // address of its /metrics; default metrics.listen. Off: none
}

// RecordsConfig is where call records go.
type RecordsConfig struct {
	Dir  string        `yaml:"dir"`  // default records/ in the state directory
	Keep time.Duration `yaml:"keep"` // default 48h
}

// SpendConfig has the money limits of the whole provider project, over all models,
// and what holds for each money limit.
type SpendConfig struct {
	// USDPer10m is the provider's own limit in sliding ten minutes; the other two are
	// caps of ours.
	USDPer10m   float64 `yaml:"usd_per_10m"`
	USDPerDay   float64 `yaml:"usd_per_day"`   // of a Pacific day
	USDPerMonth float64 `yaml:"usd_per_month"` // of a calendar month in zone
	// SoftRatio of a day's or month's cap is what pausable classes may take it to;
	// past it the others go on, in a cheaper way where there is one. Default 0.92;
	// 1 lets all classes go to the cap.
	SoftRatio float64 `yaml:"soft_ratio"`
	Zone      string  `yaml:"zone"`   // of months; default time_zone
	Prices    string  `yaml:"prices"` // a file of prices that take the place of those in the program: nightshift spend price --help
}

// GatewayConfig is where the gateway serves Gemini's API.
type GatewayConfig struct {
	Listen     string `yaml:"listen"`      // default 127.0.0.1:8484
	PathPrefix string `yaml:"path_prefix"` // under which everything is served, such as /gemini; default none
	Observe    bool   `yaml:"observe"`     // meter and refuse nothing: to find out first who eats the quota
	// MaxConnections are open at once in one process; who comes then waits. Default 4096.
	MaxConnections int       `yaml:"max_connections"`
	TLS            TLSConfig `yaml:"tls"`     // absent: plain HTTP
	Metrics        string    `yaml:"metrics"` // address of its /metrics; default metrics.listen. Off: none
	// Leave is how long calls are still taken after the end was asked for, while a load
	// balancer that asks /readyz is told 503. Default 5s; where nobody asks, none.
	Leave *time.Duration `yaml:"leave"`
}

// TLSConfig names the PEM files by which the gateway serves HTTPS, both or
// neither. It follows them while it runs: a new certificate needs no restart.
type TLSConfig struct {
	Cert string `yaml:"cert"` // the certificate, with those between it and the authority
	Key  string `yaml:"key"`  // its private key
}

// DashboardConfig is where asynqmon and the quota page are served.
type DashboardConfig struct {
	Listen string `yaml:"listen"` // default 127.0.0.1:8780
	Write  bool   `yaml:"write"`  // people may pause queues and run tasks from it
	Token  string `yaml:"token"`  // asked of everyone, for those who operate; needed beyond loopback
	// ViewToken is for those who may only look, beside a token.
	ViewToken string `yaml:"view_token"`
	Mask      *bool  `yaml:"mask"` // true: nobody sees what rows contain; false: operators see all; default: they see failed rows, redacted

	Metrics string `yaml:"metrics"` // address of its /metrics; default metrics.listen. Off: none
}

// ListenConfig is the address of all processes' metrics: HOST:PORT where each has a
// network address of its own, as in a pod; HOST:PORT-PORT where they share a machine,
// and each takes the next that is free. Default none.
type ListenConfig struct {
	Listen string `yaml:"listen"`
}

// defaults are the values of keys that no file, variable or flag sets.
func defaults() map[string]any {
	return map[string]any{
		"redis":               "embedded",
		"gemini.project":      "default",
		"gemini.region":       "global",
		"gemini.api":          "live",
		"gemini.base_url":     "https://generativelanguage.googleapis.com",
		"gemini.api_key_env":  "GEMINI_API_KEY",
		"run.priority":        "normal",
		"run.feature":         "bulk",
		"run.id_column":       "id",
		"run.reask":           1,
		"worker.concurrency":  32,
		"worker.attempts":     5,
		"worker.call_timeout": "2m",
		"worker.flex_timeout": "15m",
		"records.keep":        "48h",
		"time_zone":           "America/Los_Angeles",
		"spend.soft_ratio":    0.92,

		"gateway.listen":          "127.0.0.1:8484",
		"gateway.max_connections": 4096,
		"dashboard.listen":        dashboard.DefaultListen,

		"health.p95":           scheduler.DefaultThresholds.P95,
		"health.first_token":   scheduler.DefaultThresholds.FirstToken,
		"health.samples":       scheduler.DefaultThresholds.Samples,
		"health.refused_ratio": scheduler.DefaultThresholds.RefusedRatio,
		"health.refusals":      scheduler.DefaultThresholds.Refusals,
		"health.every":         "1500ms",
		"health.over":          "60s",
		"health.bad":           2,
		"health.good":          20,
		"health.give_up":       "10m",
		"health.ramp":          "2m",
		"health.ramp_from":     0.10,
		"health.trickle":       0.02,
	}
}
