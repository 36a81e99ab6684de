package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// ConfigError names the field of a configuration that is wrong.
type ConfigError struct{ Field, Problem string }

func (e *ConfigError) Error() string { return e.Field + ": " + e.Problem }

// NoTargetError says that nothing of this name can be paused.
type NoTargetError struct {
	Target  string
	Classes []string // that could be
}

func (e *NoTargetError) Error() string {
	return fmt.Sprintf("there is nothing named %q to pause: want a class (%s), a run, or a queue such as bulk-high.project.model",
		e.Target, strings.Join(e.Classes, ", "))
}

// NotPausableError says that a class may not be paused.
type NotPausableError struct{ Class string }

func (e *NotPausableError) Error() string {
	return fmt.Sprintf("class %s may not be paused: people wait for it (classes.%s.pausable is false)", e.Class, e.Class)
}

// PastError says that a pause would have ended before it began.
type PastError struct {
	Target string
	Until  time.Time
	Now    time.Time
}

func (e *PastError) Error() string {
	return fmt.Sprintf("pause of %s until %s: that is %s ago", e.Target,
		e.Until.Local().Format("2006-01-02 15:04:05 MST"), e.Now.Sub(e.Until).Round(time.Second))
}

// HeldError refuses a resume: a reason that is not the operator's holds.
type HeldError struct {
	Target  string
	Through string // what is paused, when it is not the target itself: its class
	Reason  string // health, window, …
	Owner   string
	Detail  string
	Since   time.Time
	Run     bool // it is a run's own window or cap
}

func (e *HeldError) Error() string {
	s := fmt.Sprintf("%s is paused for reason %s since %s", e.Target, e.Reason, e.Since.Local().Format("15:04:05 MST"))
	if e.Through != "" {
		s = fmt.Sprintf("%s is closed: %s is paused for reason %s since %s", e.Target, e.Through, e.Reason, e.Since.Local().Format("15:04:05 MST"))
	}
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	switch e.Reason {
	case ReasonHealth:
		return s + "; it resumes by itself once callers are well, or now with --override 30m"
	case ReasonWindow, ReasonBudget:
		if e.Run {
			return s
		}
	}
	switch e.Reason {
	case ReasonWindow:
		return s + "; its work window in the configuration decides (windows)"
	case ReasonStop:
		return s + "; it ends with the stop, which `nightshift lift` or the dashboard's page Steer ends"
	case ReasonOperator:
		if e.Owner != "" {
			s += " by " + e.Owner
		}
		return s
	}
	return s + "; it resumes by itself when that ends"
}

// Hint is the command that would work; "" for none.
func (e *HeldError) Hint() string {
	switch {
	case e.Run && e.Reason == ReasonWindow:
		return "nightshift set " + e.Target + " --window none"
	case e.Run && e.Reason == ReasonBudget:
		return "nightshift set " + e.Target + " --max-cost DOLLARS"
	case e.Reason == ReasonHealth:
		return "nightshift resume " + e.Target + " --override 30m"
	case e.Reason == ReasonOperator && e.Through != "":
		return "nightshift resume " + e.Through
	}
	return ""
}
