package worker

// The keys of this package, and those of asynq v0.26 that it touches (there:
// internal/base/base.go). A test compares the latter with what asynq leaves.

const (
	fleetKey  = "nightshift:fleet"          // hash of worker id → time seen and description
	servedKey = "{nightshift:fleet}:served" // hash of when lanes were served, in the fleet's slot (lua/fleet.lua)
	abortsKey = "nightshift:aborts"         // sorted set of run ids by the Unix millisecond of their abort
)

// failingKey is there while a lane's workers say that the provider fails: when it
// began, as a Unix time in milliseconds.
func failingKey(lane string) string { return "nightshift:{failing:" + lane + "}" }

// flexKey is how it stands with a lane's flex tier (lua/flex.lua).
func flexKey(lane string) string { return "nightshift:{flex:" + lane + "}" }

func asynqKey(queue, name string) string { return "asynq:{" + queue + "}:" + name }

// asynqQueues is the set of all queues.
const asynqQueues = "asynq:queues"

func retryKey(queue string) string   { return asynqKey(queue, "retry") }
func pendingKey(queue string) string { return asynqKey(queue, "pending") }
func pausedKey(queue string) string  { return asynqKey(queue, "paused") }
func taskPrefix(queue string) string { return asynqKey(queue, "t:") }
