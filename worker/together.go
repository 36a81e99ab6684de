package worker

import "time"

// beat is the raster of together.
const beat = 10 * time.Millisecond

// together waits for the next beat, at which all jobs of this process begin.
// Ledger and limiter answer whoever asks at the same time in one script, most of
// whose cost does not depend on how many they are: jobs in step cost Redis and
// this process about half as much as jobs that come one by one, and bulk work
// does not feel some milliseconds. Answers are stored without waiting.
func together(now time.Time) {
	<-time.After(beat - time.Duration(now.UnixNano()%int64(beat)))
}
