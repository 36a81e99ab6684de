package scheduler

import "nightshift/limiter"

// The keys of this package, and those of asynq v0.26 that it repairs or sets
// (there: internal/base/base.go).

// leaseKeys are one lease's two keys, in one hash slot.
func leaseKeys(name string) []string {
	return []string{"nightshift:{lead:" + name + "}:owner", "nightshift:{lead:" + name + "}:fence"}
}

// scopeKey is one of what the schedulers of a provider project share:
//
//	health     hash: state (JSON), fence of its writer, view (JSON)
//	hold       string: what holds the monitor (JSON), with an expiry
//	overrides  hash: queue → when its override ends (ms)
//	members    hash: scheduler's id → time seen and description
//	bypass     hash: lane → estimate (JSON)
//	hours      hash: what was used in each hour (hourstore.go)
//	spend      hash: node and limit → what the cap stood at, and what was told of it (JSON)
//	runs       hash: run → what was told and seen of its steering (JSON, runmark.go)
//	rates      hash: run → the rate that was told last of its window
//	schedules  hash: schedule → what was decided of its periods (JSON)
//	old:TARGET string: an old pause was told of, with an expiry
//	told:ID    string: an event of a run was told, with an expiry
//	runevents  list: events of runs (JSON) that no hook has looked at
//	life       hash: run → what was seen of it last; since: when looking began (ms)
//	notify     hash: run → its own hooks (JSON)
//	deliveries hash: id → an event on its way to a hook (JSON)
//	due        sorted set: those ids by their next attempt (ms)
//	alerts     hash: book (JSON), fence and time of its writer (alertbook.go)
func scopeKey(s limiter.Scope, name string) string {
	return "nightshift:{scheduler:" + s.String() + "}:" + name
}

// generationKey tells that Redis still has what the limiter counted: it shares
// the limiter's hash slot, so that both are lost together.
func generationKey(s limiter.Scope) string { return "nightshift:{limiter:" + s.String() + "}:kept" }

func activeKey(queue string) string  { return "asynq:{" + queue + "}:active" }
func holdKey(queue string) string    { return "asynq:{" + queue + "}:lease" }
func taskPrefix(queue string) string { return "asynq:{" + queue + "}:t:" }
func pausedKey(queue string) string  { return "asynq:{" + queue + "}:paused" }

// closedKey is our note of having closed a queue, in the queue's own hash slot.
func closedKey(queue string) string { return "nightshift:{" + queue + "}:closed" }
