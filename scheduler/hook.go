package scheduler

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The formats of what a hook's address is sent.
const (
	HookJSON     = "json"     // type, timestamp and data, with the report
	HookSlack    = "slack"    // {"text": …}, which Slack, Mattermost and others take
	HookMarkdown = "markdown" // the report itself
)

// HookFormats are all of them.
var HookFormats = []string{HookJSON, HookSlack, HookMarkdown}

// Hook is somebody to be told of what happens to runs: an address, or a command on the
// machine that tells.
type Hook struct {
	Name    string        `json:"name"`             // no two have the same
	On      []string      `json:"on"`               // of HookEvents; empty: DefaultHookOn
	URL     string        `json:"url,omitempty"`    // may hold a secret itself: Target is what is shown
	Secret  []byte        `json:"-"`                // signs what is sent; nil signs nothing
	Format  string        `json:"format,omitempty"` // of HookFormats; default HookJSON
	Command string        `json:"-"`                // given to sh -c, instead of a URL
	Timeout time.Duration `json:"-"`                // of one attempt; default 15 s, of a command 10 min
}

// DefaultHookOn is what hooks are called on that do not say.
var DefaultHookOn = []string{RunFinished, RunHalted, RunCapped, RunLate}

// Check names the field that is wrong.
func (h Hook) Check() error {
	for _, kind := range h.On {
		if !slices.Contains(HookEvents, kind) {
			return &ConfigError{"on", fmt.Sprintf("%q; want %s", kind, strings.Join(HookEvents, ", "))}
		}
	}
	switch {
	case h.URL == "" && h.Command == "":
		return &ConfigError{"url", "is empty, and there is no command to run either"}
	case h.URL != "" && h.Command != "":
		return &ConfigError{"run", "a hook has an address or a command, not both"}
	case h.Format != "" && !slices.Contains(HookFormats, h.Format):
		return &ConfigError{"format", fmt.Sprintf("%q; want %s", h.Format, strings.Join(HookFormats, ", "))}
	case h.Timeout < 0:
		return &ConfigError{"timeout", fmt.Sprintf("%s is negative", h.Timeout)}
	}
	return checkHookURL(h.URL)
}

// checkHookURL says nothing of the address but its host: the rest may be a secret.
func checkHookURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &ConfigError{"url", "is no http or https address"}
	}
	return nil
}

// Target is who is told, as it may be shown: of an address its host.
func (h Hook) Target() string {
	if h.Command != "" {
		return "command"
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.Host == "" {
		return "an address"
	}
	return u.Host
}

func (h Hook) wants(kind string) bool {
	if len(h.On) == 0 {
		return slices.Contains(DefaultHookOn, kind)
	}
	return slices.Contains(h.On, kind)
}

func (h Hook) timeout() time.Duration {
	switch {
	case h.Timeout > 0:
		return h.Timeout
	case h.Command != "":
		return 10 * time.Minute
	}
	return 15 * time.Second
}

// RunReport is what hooks are given to tell: all are empty where there is no such run.
type RunReport struct {
	Title    string
	Short    string // a few lines
	Markdown string
	JSON     json.RawMessage
}

// hookWaits are the times between attempts; the last is for all that follow.
var hookWaits = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}

// hookGivesUp is how long a receiver may be away: a night and the morning after it.
const hookGivesUp = 24 * time.Hour

// Delivery is one event on its way to one hook.
type Delivery struct {
	ID      string    `json:"id"`   // the same at each attempt, so that receivers can tell repeats
	Hook    string    `json:"hook"` // its name
	Event   RunEvent  `json:"event"`
	Attempt int       `json:"attempt"` // so many have failed
	First   time.Time `json:"first"`
	Next    time.Time `json:"next"`
	Failed  string    `json:"failed,omitempty"` // why the last one did
}

// newDelivery is an event's for one hook.
func newDelivery(hook string, e RunEvent, now time.Time) Delivery {
	return Delivery{ID: "msg_" + shortDigest(e.ID(), hook), Hook: hook, Event: e, First: now, Next: now}
}

// again is the delivery after an attempt that failed; false says that it was the last.
// after is what the receiver asked for; 0 for nothing.
func (d Delivery) again(why string, after time.Duration, now time.Time) (Delivery, bool) {
	wait := hookWaits[min(d.Attempt, len(hookWaits)-1)]
	d.Attempt++
	d.Failed = why
	d.Next = now.Add(max(wait, min(after, time.Hour)))
	return d, !d.Next.After(d.First.Add(hookGivesUp))
}
