package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What alerts tell of.
const (
	AlertProvider429 = "provider_429"   // the provider refuses calls that people wait for
	AlertLimiter429  = "limiter_429"    // we do
	AlertQueue       = "queue_growth"   // more rows come than end
	AlertTokens      = "token_pressure" // a call has far more input than is usual, or far less
	AlertCap         = "cap"            // a cap in money is spent to one of the levels
	AlertPaused      = "paused_long"    // something has been closed for longer than anybody meant
	AlertCredentials = "credentials"    // the provider refuses our key
	AlertLimits      = "limits_lower"   // the provider allows less than is configured
	AlertEstimates   = "estimates_off"  // what is charged before a call is not what it has
	AlertWorkers     = "no_workers"     // rows wait, and nobody works
)

// AlertKinds are all of them.
var AlertKinds = []string{AlertProvider429, AlertLimiter429, AlertQueue, AlertTokens, AlertCap, AlertPaused, AlertCredentials, AlertLimits, AlertEstimates, AlertWorkers}

// Alert is something that somebody should look at.
type Alert struct {
	Kind    string `json:"kind"`    // of AlertKinds
	Subject string `json:"subject"` // what it is of: a class, a lane, a node
	// Level is the part of a cap in percent; 0 of other kinds. One that grows is told anew.
	Level   int64     `json:"level,omitempty"`
	Text    string    `json:"text"`    // one line for people
	Command string    `json:"command"` // what helps, or shows more
	Since   time.Time `json:"since"`   // from when on it held
}

// ID tells alerts apart; of one that comes again it is the same.
func (a Alert) ID() string { return a.Kind + " " + a.Subject }

// Line is the alert with what helps.
func (a Alert) Line() string {
	if a.Command == "" {
		return a.Text
	}
	return a.Text + ": " + a.Command
}

// AlertRules say from when on something is an alert; zero fields take the defaults.
type AlertRules struct {
	Over  time.Duration // what a look judges of 429s, tokens and estimates; default 5 min
	Group time.Duration // what begins within it is one message; default 30 s
	Clear time.Duration // so long nothing is seen of one that is over; default 2 min, at least Group

	Refusals     int64   // 429s within Over, of calls that people wait for; default 10
	RefusedRatio float64 // and of all of them; default 0.01

	QueueRows int64         // so many rows more, in both halves of QueueOver; default 1,000
	QueueOver time.Duration // default 30 min

	Tokens   float64         // times the usual input of a request, or one part in so many; default 4
	Caps     []int64         // percent; default 50, 80, the cap's soft part (92), 100
	Paused   time.Duration   // default 4 h; of a person's pause that has no end at least 12 h
	Lowered  time.Duration   // a limit that is lower than configured for so long; default 10 min
	Estimate float64         // part by which estimates may be off; default 0.25
	Workers  time.Duration   // rows wait for so long, and no worker serves them; default 2 min
	Off      map[string]bool // kinds that nobody is told of
}

func (r AlertRules) orDefault() AlertRules {
	r.Over, r.Group = cmp.Or(r.Over, 5*time.Minute), cmp.Or(r.Group, 30*time.Second)
	r.Clear = max(cmp.Or(r.Clear, 2*time.Minute), r.Group)
	r.Refusals, r.RefusedRatio = cmp.Or(r.Refusals, 10), cmp.Or(r.RefusedRatio, 0.01)
	r.QueueRows, r.QueueOver = cmp.Or(r.QueueRows, 1000), cmp.Or(r.QueueOver, 30*time.Minute)
	r.Tokens, r.Paused, r.Lowered = cmp.Or(r.Tokens, 4), cmp.Or(r.Paused, 4*time.Hour), cmp.Or(r.Lowered, 10*time.Minute)
	r.Estimate, r.Workers = cmp.Or(r.Estimate, 0.25), cmp.Or(r.Workers, 2*time.Minute)
	return r
}

// Check names the first field that is wrong, as the configuration has it.
func (r AlertRules) Check() error {
	for _, d := range []struct {
		field string
		is    time.Duration
		most  time.Duration
	}{
		{"over", r.Over, time.Hour}, {"group", r.Group, 10 * time.Minute}, {"clear", r.Clear, time.Hour}, {"queue_over", r.QueueOver, 6 * time.Hour},
		{"paused", r.Paused, 30 * 24 * time.Hour}, {"lowered", r.Lowered, 24 * time.Hour}, {"workers", r.Workers, 24 * time.Hour},
	} {
		if d.is < 0 || d.is > d.most {
			return &ConfigError{d.field, fmt.Sprintf("%s; want up to %s", d.is, d.most)}
		}
	}
	switch {
	case r.Refusals < 0:
		return &ConfigError{"refusals", fmt.Sprintf("%d is negative", r.Refusals)}
	case r.RefusedRatio < 0 || r.RefusedRatio > 1:
		return &ConfigError{"refused_ratio", fmt.Sprintf("%g; want a part, from 0 to 1", r.RefusedRatio)}
	case r.QueueRows < 0:
		return &ConfigError{"queue_rows", fmt.Sprintf("%d is negative", r.QueueRows)}
	case r.Tokens != 0 && r.Tokens <= 1:
		return &ConfigError{"tokens", fmt.Sprintf("%g; want how many times the usual, more than 1", r.Tokens)}
	case r.Estimate < 0 || r.Estimate >= 1:
		return &ConfigError{"estimates", fmt.Sprintf("%g; want a part, above 0 and below 1", r.Estimate)}
	}
	return r.checkLists()
}

func (r AlertRules) checkLists() error {
	for _, level := range r.Caps {
		if level < 1 || level > 100 {
			return &ConfigError{"caps", fmt.Sprintf("%d; want percents of a cap, 1 to 100", level)}
		}
	}
	for kind := range r.Off {
		if !slices.Contains(AlertKinds, kind) {
			return &ConfigError{"off", fmt.Sprintf("%q; want %s", kind, strings.Join(AlertKinds, ", "))}
		}
	}
	return nil
}
