package scheduler

// The keys of this package, and those of asynq v0.26 that it repairs (there:
// internal/base/base.go).

// leaseKeys are one lease's two keys, in one hash slot.
func leaseKeys(name string) []string {
	return []string{"nightshift:{lead:" + name + "}:owner", "nightshift:{lead:" + name + "}:fence"}
}

func activeKey(queue string) string  { return "asynq:{" + queue + "}:active" }
func holdKey(queue string) string    { return "asynq:{" + queue + "}:lease" }
func taskPrefix(queue string) string { return "asynq:{" + queue + "}:t:" }
