package worker

import "time"

// The rasters of together: a short one, and one for lanes whose jobs come by
// pulls: they waited far longer for their turn.
const (
	beat     = 10 * time.Millisecond
	slowBeat = 100 * time.Millisecond
)

// together waits for the next beat, at which all jobs of this lane begin.
// Ledger and limiter answer whoever asks at the same time in one script, most of
// whose cost does not depend on how many they are: jobs in step cost Redis and
// this process about half as much as jobs that come one by one, and bulk work
// does not feel some milliseconds.
func (l *lane) together(now time.Time) {
	raster := int64(beat)
	if l.slots.pulling(now) {
		raster = int64(slowBeat)
	}
	<-time.After(time.Duration(raster - now.UnixNano()%raster))
}
