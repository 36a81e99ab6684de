package jobs

import "strconv"

// Every key that this package writes. All of a run's share the hash tag {run},
// so that one script can move several of them on a Cluster.
//
//	nightshift:jobs:runs          sorted set: run ids by creation (ms)
//	nightshift:jobs:names         hash: run name, or "=" and a digest for runs without one → run id
//	nightshift:jobs:lanes         set: lanes that have queues
//	nightshift:jobs:purged        sorted set: id, NUL and name of runs that were purged, by when (ms); the latest 5,000
//	nightshift:jobs:watched       set: runs whose steering somebody has to look after
//	nightshift:jobs:{run}:run     hash: v, record (JSON), digest, next (index), rows, shards, inputs (digest; empty while an update is under way),
//	                              bytes (of results, here and in chunks), drained (JSON: where drained files are),
//	                              halt (the brake's numbers: "same ppm of"), planned (JSON: what it was expected to need),
//	                              max_wait (s), stop_at (ms: open rows end then), missed (rows that ended so), ended (when a row ended last, Unix seconds),
//	                              calls (under way when it was cancelled last), cancelled (when that was, Unix ms), fetched (when somebody had all results, Unix seconds),
//	                              attempts (of rows that ended, added up), paid (by their results, in micro-dollars), lost (how often a row was taken from a worker that had died with it),
//	                              edited (set once an update has given open rows other fields), told (of which end of its time it was told, and when), stays (why it is kept beyond)
//	nightshift:jobs:{run}:count   hash: state → rows; moved only together with the states
//	nightshift:jobs:{run}:row:N   string: rows 65,536·N and on, three bytes each: state, generation (big-endian)
//	nightshift:jobs:{run}:id:N    hash, a shard of: digest of the row id → index (4 bytes), digest of the row's key (16)
//	nightshift:jobs:{run}:fld:N   hash: index → row id, NUL, fields; rows 1,024·N and on
//	nightshift:jobs:{run}:at:N    string: when rows 65,536·N and on were enqueued, four bytes each (big-endian): Unix seconds
//	nightshift:jobs:{run}:res:N   hash: index → state (a byte), result line (JSON, zstd when long); state 0 alone hides what the chunk has
//	nightshift:jobs:{run}:fold:N  string: chunk of the results of rows 256·N and on that are not in res (see chunk.go)
//	nightshift:jobs:{run}:draft   hash: index → generation, line break, what earlier calls for the row brought (JSON)
//	nightshift:jobs:{run}:brake   hash: last (a digit for each of the last rows, 1 for a bad end), same (cause, tab, count, line break),
//	                              trip (why the brake stopped the run)
//	nightshift:jobs:{run}:good    string: good ends, by which other runs find them: beginnings of the row's key (8 bytes) and of the
//	                              digest of its id (4), when its answer was made (4, Unix seconds), index (4); all big-endian
//	nightshift:jobs:{run}:mended  string: indexes (4 bytes) of rows that came from files of rows which were left out of the run
//	nightshift:jobs:{run}:taking  string with an expiry: an enqueue is taking results over: queued rows lack their tasks
//	nightshift:jobs:{run}:file    hash: "p" and a path → digest (32 bytes) and type of a file that rows name, "d" and the digest → its content, while a row may need it
//	nightshift:jobs:{run}:wait:N  hash: index → what the open row waits for since when, and what it waited before (see waits.go); rows 64·N and on
//	nightshift:jobs:{run}:waits   hash: cause (a letter) → what rows that ended waited for it (ms)
//	nightshift:jobs:{run}:pick    hash: "f" and a field → what was decided about it, four bytes a row (see picks.go); "=" → how (JSON)
//	nightshift:jobs:{run}:end     string: indexes (4 bytes) in the order the rows ended; with the highest bit set: a result that ended
//	                              before and was given other fields
const (
	keyRuns  = "nightshift:jobs:runs"
	keyNames = "nightshift:jobs:names"
	keyLanes = "nightshift:jobs:lanes"

	keyWatched = "nightshift:jobs:watched"
	keyPurged  = "nightshift:jobs:purged"

	// schemaVersion is of a run's keys. A run of a newer one is left alone.
	schemaVersion = 1

	rowsPerChunk  = 65536
	rowsPerShard  = 32 // of the id hashes, which Redis keeps compact and searches through
	bytesPerRow   = 3
	bytesPerTime  = 4
	rowsPerBucket = 1024
	rowsPerWait   = 64 // which Redis keeps compact
)

func runPrefix(run string) string { return "nightshift:jobs:{" + run + "}:" }
func runKey(run string) string    { return runPrefix(run) + "run" }
func countKey(run string) string  { return runPrefix(run) + "count" }
func mendedKey(run string) string { return runPrefix(run) + "mended" }
func endKey(run string) string    { return runPrefix(run) + "end" }
func goodKey(run string) string   { return runPrefix(run) + "good" }
func takingKey(run string) string { return runPrefix(run) + "taking" }
func draftKey(run string) string  { return runPrefix(run) + "draft" }
func brakeKey(run string) string  { return runPrefix(run) + "brake" }
func fileKey(run string) string   { return runPrefix(run) + "file" }
func pickKey(run string) string   { return runPrefix(run) + "pick" }
func waitsKey(run string) string  { return runPrefix(run) + "waits" }
func rowKey(run string, chunk int64) string {
	return runPrefix(run) + "row:" + strconv.FormatInt(chunk, 10)
}

// atKey is when rows were enqueued.
func atKey(run string, chunk int64) string {
	return runPrefix(run) + "at:" + strconv.FormatInt(chunk, 10)
}

// The hash of what rows wait for, wait:N of 64 rows, is named by the scripts alone.

// foldKey is a chunk of results; resKey the hash of a row's result.
func foldKey(run string, n int64) string { return runPrefix(run) + "fold:" + strconv.FormatInt(n, 10) }
func resKey(run string, index int64) string {
	return runPrefix(run) + "res:" + strconv.FormatInt(index/rowsPerBucket, 10)
}

// shardsFor is fixed when a run is made; a run that grows by far more only
// loses compactness.
func shardsFor(rows int64) int64 { return rows/rowsPerShard + 1 }
