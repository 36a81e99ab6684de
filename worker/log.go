package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// asynqLogger gives asynq's lines to slog. What asynq calls information is of
// use only to those who debug it.
type asynqLogger struct{ log *slog.Logger }

func (a asynqLogger) Debug(args ...any) { a.log.Debug(asynqLine(args)) }
func (a asynqLogger) Info(args ...any)  { a.log.Debug(asynqLine(args)) }
func (a asynqLogger) Warn(args ...any)  { a.log.Warn(asynqLine(args)) }
func (a asynqLogger) Error(args ...any) { a.log.Error(asynqLine(args)) }

// Fatal does not exit: only main does.
func (a asynqLogger) Fatal(args ...any) { a.log.Error(asynqLine(args)) }

func asynqLine(args []any) string { return "asynq: " + fmt.Sprint(args...) }

// asynqLevel keeps asynq from formatting lines that nobody reads.
func asynqLevel(log *slog.Logger) asynq.LogLevel {
	if log.Enabled(context.Background(), slog.LevelDebug) {
		return asynq.InfoLevel
	}
	return asynq.WarnLevel
}

// isOurs tells our own ways of putting a task back from asynq's errors.
func isOurs(err error) bool {
	var wait *waitError
	var retry *retryError
	return errors.As(err, &wait) || errors.As(err, &retry)
}

// noticeEvery is how often the same trouble of a lane is worth a line.
const noticeEvery = time.Minute

// notices limits lines about what meets a whole lane to one a minute and
// reason, however many rows meet it.
type notices struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (n *notices) due(reason string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last, ok := n.last[reason]; ok && now.Sub(last) < noticeEvery {
		return false
	}
	if n.last == nil {
		n.last = map[string]time.Time{}
	}
	n.last[reason] = now
	return true
}
