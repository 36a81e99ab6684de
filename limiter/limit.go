package limiter

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Unit is what a limit counts.
type Unit uint8

// The units. Amounts are integers: tokens, images and requests as they are,
// money in micro-dollars. Concurrency and streams are held, not used up.
const (
	Requests Unit = iota
	InputTokens
	OutputTokens
	TotalTokens
	Images
	MicroUSD
	Concurrency
	Streams
	NumUnits = 8
)

var unitNames = [NumUnits]string{
	"requests", "input_tokens", "output_tokens", "total_tokens", "images", "micro_usd", "concurrency", "streams",
}

// String is the unit's name in keys, answers and metrics.
func (u Unit) String() string {
	if u < NumUnits {
		return unitNames[u]
	}
	return fmt.Sprintf("unit(%d)", uint8(u))
}

// MarshalJSON writes the unit's name.
func (u Unit) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// UnmarshalJSON reads a unit's name, or its number as older programs wrote it.
func (u *Unit) UnmarshalJSON(b []byte) error {
	n, err := nameOrNumber(b, unitNames[:])
	*u = Unit(n)
	return err
}

// Window is the time over which a limit counts.
type Window uint8

// The windows. Minute and TenMinutes slide; Day is a calendar day in
// America/Los_Angeles (Gemini's RPD reset, facts: ai.google.dev rate-limits
// page of 2026-08-18), Month a calendar month in a configured zone; Held is no
// window at all: what is held counts until it is given back or its lease ends.
// Ever counts all of a node's life: it never turns, and only a higher limit helps.
const (
	Minute Window = iota
	TenMinutes
	Day
	Month
	Held
	Ever
	NumWindows = 6
)

// counted tells whether the use of a window adds up instead of sliding out: of a
// day, of a month, or of all time.
func (w Window) counted() bool { return w == Day || w == Month || w == Ever }

var windowNames = [NumWindows]string{"minute", "10m", "day", "month", "held", "ever"}

// String is the window's name in keys, answers and metrics.
func (w Window) String() string {
	if w < NumWindows {
		return windowNames[w]
	}
	return fmt.Sprintf("window(%d)", uint8(w))
}

// MarshalJSON writes the window's name.
func (w Window) MarshalJSON() ([]byte, error) { return json.Marshal(w.String()) }

// UnmarshalJSON reads a window's name, or its number as older programs wrote it.
func (w *Window) UnmarshalJSON(b []byte) error {
	n, err := nameOrNumber(b, windowNames[:])
	*w = Window(n)
	return err
}

func nameOrNumber(b []byte, names []string) (uint8, error) {
	var n uint8
	if json.Unmarshal(b, &n) == nil {
		return n, nil
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return 0, err
	}
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("%q is none of %q", name, names)
	}
	return uint8(i), nil
}

// Limit is an amount of a unit per window.
type Limit struct {
	Unit   Unit   `json:"unit"`
	Window Window `json:"window"`
	Amount int64  `json:"amount"`
}

// Name is the limit's shorthand, the word that operators and answers use:
// "rpm", "input_tpm", "rpd", "concurrency"; where there is no shorthand,
// "unit/window".
func (l Limit) Name() string {
	for _, s := range shorthands {
		if s.unit == l.Unit && s.window == l.Window {
			return s.name
		}
	}
	return l.Unit.String() + "/" + l.Window.String()
}

// Limits are the limits of a node by shorthand, as the configuration file
// spells them. Zero means: no such limit. Money is in micro-dollars here; the
// configuration gives dollars.
type Limits struct {
	RPM         int64 `json:"rpm,omitempty"`           // requests a sliding minute
	InputTPM    int64 `json:"input_tpm,omitempty"`     // input tokens a sliding minute; Gemini's TPM counts input
	OutputTPM   int64 `json:"output_tpm,omitempty"`    // output tokens (thinking included) a sliding minute
	TotalTPM    int64 `json:"total_tpm,omitempty"`     // all tokens a sliding minute
	IPM         int64 `json:"ipm,omitempty"`           // images a sliding minute
	RPD         int64 `json:"rpd,omitempty"`           // requests a Pacific day
	TPD         int64 `json:"tpd,omitempty"`           // input tokens a Pacific day
	Concurrency int64 `json:"concurrency,omitempty"`   // calls in flight
	Streams     int64 `json:"streams,omitempty"`       // open streams
	USDPer10m   int64 `json:"usd_per_10m,omitempty"`   // micro-dollars in sliding ten minutes
	USDPerDay   int64 `json:"usd_per_day,omitempty"`   // micro-dollars a Pacific day
	USDPerMonth int64 `json:"usd_per_month,omitempty"` // micro-dollars a calendar month
	USDTotal    int64 `json:"usd_total,omitempty"`     // micro-dollars in all: a run's --max-cost
}

var shorthands = []struct {
	name   string
	unit   Unit
	window Window
	field  func(*Limits) *int64
}{
	{"rpm", Requests, Minute, func(l *Limits) *int64 { return &l.RPM }},
	{"input_tpm", InputTokens, Minute, func(l *Limits) *int64 { return &l.InputTPM }},
	{"output_tpm", OutputTokens, Minute, func(l *Limits) *int64 { return &l.OutputTPM }},
	{"total_tpm", TotalTokens, Minute, func(l *Limits) *int64 { return &l.TotalTPM }},
	{"ipm", Images, Minute, func(l *Limits) *int64 { return &l.IPM }},
	{"rpd", Requests, Day, func(l *Limits) *int64 { return &l.RPD }},
	{"tpd", InputTokens, Day, func(l *Limits) *int64 { return &l.TPD }},
	{"concurrency", Concurrency, Held, func(l *Limits) *int64 { return &l.Concurrency }},
	{"streams", Streams, Held, func(l *Limits) *int64 { return &l.Streams }},
	{"usd_per_10m", MicroUSD, TenMinutes, func(l *Limits) *int64 { return &l.USDPer10m }},
	{"usd_per_day", MicroUSD, Day, func(l *Limits) *int64 { return &l.USDPerDay }},
	{"usd_per_month", MicroUSD, Month, func(l *Limits) *int64 { return &l.USDPerMonth }},
	{"usd_total", MicroUSD, Ever, func(l *Limits) *int64 { return &l.USDTotal }},
}

// With is l with the limits of m that are set.
func (l Limits) With(m Limits) Limits {
	for _, s := range shorthands {
		if n := *s.field(&m); n > 0 {
			*s.field(&l) = n
		}
	}
	return l
}

// List gives the limits that are set, in a fixed order.
func (l Limits) List() []Limit {
	var out []Limit
	for _, s := range shorthands {
		if n := *s.field(&l); n > 0 {
			out = append(out, Limit{Unit: s.unit, Window: s.window, Amount: n})
		}
	}
	return out
}
