package dashboard

import (
	"context"
	"net/http"
	"time"
)

// SteerView is what can be changed of the quotas, with what holds now.
type SteerView struct {
	Targets   []string // that limits can be set of
	Models    []string
	Overrides []OverrideView // what is set over the configuration, the latest first
	Set       int            // how many overrides there are
	Caps      []CapView      // on money, the fullest first
	Ramps     []RampView     // those that move calls first
	Classes   []ClassView
	Pauses    []PauseView
}

// OverridesOnPage is how many overrides the page lists.
const OverridesOnPage = 100

// OverrideView is a value that stands over the configuration.
type OverrideView struct {
	Target, Name, Value, Configured string
	Run                             string // the name of the run that is the target; "" for others
	By, Reason                      string
	At                              time.Time
	Provider                        bool // the provider taught it
	Stop                            bool // it is an emergency stop, which the action "lift" ends
}

// CapView is a limit on money.
type CapView struct {
	Target, Name string
	Run          string // the name of the run that is the target; "" for others
	Cap, Spent   int64  // micro-dollars
	Held         int64  // by calls under way, which give back what they do not need
	AtEnd        int64  // what will be spent if that goes on; 0: not known
	Level        Level
	Note         string
}

// Limit is the cap for a bar.
func (c CapView) Limit() LimitView {
	return LimitView{Name: c.Name, Set: c.Cap, Effective: c.Cap, Used: c.Spent + c.Held, Micro: true}
}

// RampView moves calls from one model to another.
type RampView struct {
	Scope, From, To string
	Share, State    string
	Why             string
	Level           Level
	Active, Held    bool
}

// QuotaNames are what can be set of a target.
func (s *shown) QuotaNames() []string {
	return []string{"rpm", "input_tpm", "output_tpm", "total_tpm", "rpd", "concurrency", "usd_per_day", "usd_per_month", "usd_per_10m", "outside", "lend", "guarantee", "floor",
		"trickle", "cap", "output_floor", "priority/high", "priority/normal", "priority/low"}
}

func (d *Dashboard) steerPage() page {
	p := page{path: "/steer", nav: "Steer", title: "steer", template: "steer"}
	if d.cfg.Steer != nil {
		p.load = func(ctx context.Context, _ *http.Request) (any, error) { return d.cfg.Steer(ctx) }
	}
	return p
}
