// Command peers holds the limiter beside what is usually taken for its job:
// redis_rate, throttled, gubernator and golang.org/x/time/rate. It is a module of
// its own, so that nobody who uses nightshift carries them.
//
//	go run .                  all tables, as Markdown
//	go run . -only window     one of them: window, settle, cost, callers, flat, memory
//	go run . -check           ends with 1 when ours misses a bar
//
// It starts a redis-server of its own (--redis-server names another binary) and
// compares only what was measured in the same run: the machine's noise is in both.
//
// Clocks are turned by hand where nothing but the arithmetic counts: ours has one
// for tests, redis_rate and throttled get a Redis in process whose TIME can be set,
// gubernator's own can be frozen, x/time/rate takes the moment as an argument. So
// an hour is played in seconds, and in the code that really runs.
package main
