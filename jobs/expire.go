package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/encoding/protowire"
)

// CauseMaxWait is RowError.Cause of a row that waited longer than Spec.MaxWait.
const CauseMaxWait = "max_wait"

// MaxWaitError is the error of a row that waited too long. Last is what it was
// put back for last, as asynq has it; "" when nobody has looked at it.
func MaxWaitError(waited, most time.Duration, last string) *RowError {
	what, _, _ := strings.Cut(last, " until ")
	if what == "" {
		what = "no worker had come to it"
	} else {
		what = "last: " + what
	}
	return &RowError{Cause: CauseMaxWait, Message: fmt.Sprintf("waited %s since it was enqueued, the most is %s; %s",
		waited.Round(time.Second), most, what)}
}

// CauseDeadline is RowError.Cause of a row that was open at its run's deadline.
const CauseDeadline = "deadline"

// DeadlineError is the error of a row that was open at its run's deadline, which
// is told in the deadline's zone. Last is as for MaxWaitError.
func DeadlineError(deadline time.Time, last string) *RowError {
	what, _, _ := strings.Cut(last, " until ")
	if what != "" {
		what = "; last: " + what
	}
	return &RowError{Cause: CauseDeadline, Message: "not done by the run's deadline, " + deadlineText(deadline) + what}
}

// deadlineText has seconds where the deadline has.
func deadlineText(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("2006-01-02 15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
}

// expiredError is the error of a row that ends without a call.
func expiredError(r Run, waited time.Duration, last string, now time.Time) *RowError {
	if r.Spec.Steer.Late(now) > 0 {
		return DeadlineError(r.Spec.Steer.Deadline.In(r.Spec.Steer.Location(time.UTC)), last)
	}
	return MaxWaitError(waited, r.Spec.MaxWait, last)
}

// Missed is how many rows were open at the run's deadline, and have no other end
// since.
func (s *Store) Missed(ctx context.Context, run string) (int64, error) {
	n, err := s.rdb.HGet(ctx, runKey(run), "missed").Int64()
	if err := orNil(err); err != nil || n == 0 {
		return 0, err
	}
	c, err := s.Counts(ctx, run)
	return min(n, c[Expired]), err
}

// expireGrace is what Sweep leaves the workers to see by themselves that a row
// has waited too long: they give its place in the line back as well.
const expireGrace = 30 * time.Second

// Expire ends the open rows of a run that by now have waited longer than its
// MaxWait, or all of them after a deadline that stops it; it deletes their tasks
// and gives them. Rows that a worker has are left to it. Ending many takes a while: it
// is over as soon as the deadline is put off, and each row names the one that ended it.
func (s *Store) Expire(ctx context.Context, run string, now time.Time) ([]Task, error) {
	m, err := s.meta(ctx, run)
	if err != nil || m.Spec.MaxWait <= 0 && m.Spec.Steer.Late(now) == 0 {
		return nil, err
	}
	late, err := s.late(ctx, m, now)
	if err != nil {
		return nil, fmt.Errorf("expire: %w", err)
	}
	var gone []Task
	err = inBatches(late, 256, func(batch []lateRow) error {
		if m, err = s.meta(ctx, run); err != nil {
			return err
		}
		tasks, err := s.expire(ctx, m, slices.DeleteFunc(slices.Clone(batch), m.inTime(now)), now)
		gone = append(gone, tasks...)
		return err
	})
	if err != nil {
		err = fmt.Errorf("expire: %w", err)
	}
	return gone, err
}

// lateRow is an open row that has waited too long.
type lateRow struct {
	rowState
	waited time.Duration
}

// inTime tells that a row need not end any more.
func (m meta) inTime(now time.Time) func(lateRow) bool {
	late, most := m.Spec.Steer.Late(now) > 0, m.Spec.MaxWait
	return func(r lateRow) bool { return !late && (most <= 0 || r.waited < most) }
}

// late finds them, chunk by chunk of the ledger.
func (s *Store) late(ctx context.Context, m meta, now time.Time) ([]lateRow, error) {
	var late []lateRow
	var times []byte
	chunk := int64(-1)
	over := m.Spec.Steer.Late(now) > 0
	var failed error
	err := s.eachState(ctx, m, func(r rowState) {
		if r.State.Terminal() || r.State == Running || failed != nil {
			return
		}
		if n := r.Index / rowsPerChunk; n != chunk {
			chunk = n
			times, failed = s.rdb.Get(ctx, atKey(m.ID, n)).Bytes()
			if errors.Is(failed, redis.Nil) {
				failed = nil
			}
		}
		since := sinceIn(times, r.Index)
		waited := now.Sub(time.Unix(since, 0))
		switch {
		case over && since == 0:
			late = append(late, lateRow{r, 0})
		case over, since > 0 && m.Spec.MaxWait > 0 && waited >= m.Spec.MaxWait:
			late = append(late, lateRow{r, waited})
		}
	})
	return late, errors.Join(err, failed)
}

// sinceIn is when a row was enqueued, in Unix seconds; 0 where nothing says it.
func sinceIn(times []byte, index int64) int64 {
	at := index % rowsPerChunk * bytesPerTime
	if at+bytesPerTime > int64(len(times)) {
		return 0
	}
	return int64(binary.BigEndian.Uint32(times[at:]))
}

func (s *Store) expire(ctx context.Context, m meta, batch []lateRow, now time.Time) ([]Task, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	tasks, indexes := make([]Task, len(batch)), make([]int64, len(batch))
	for i, r := range batch {
		tasks[i], indexes[i] = r.Task, r.Index
	}
	queue := queueOf(m.Spec)
	last, err := s.LastErrors(ctx, queue, tasks)
	if err != nil {
		return nil, err
	}
	rows, err := s.fetch(ctx, m.ID, indexes)
	if err != nil {
		return nil, err
	}
	waits, err := s.waitsOf(ctx, m.Run, indexes)
	if err != nil {
		return nil, err
	}
	es := make([]ending, len(batch))
	for i, r := range batch {
		waited := waits[i].Waits.Upto(r.waited)
		res := Result{Row: rows[i].row, Run: m.ID, Index: r.Index, Status: Expired.String(), Fields: json.RawMessage(rows[i].fields),
			WaitedMS: waited.Total().Milliseconds(), WaitsMS: waited.Millis(), Error: expiredError(m.Run, r.waited, last[i], now), Finished: now.UTC()}
		line, err := res.Line()
		if err != nil {
			return nil, err
		}
		es[i] = ending{Task: r.Task, state: Expired, cause: res.Error.Cause, waits: waited.encode(),
			sum: fieldsSum(rows[i].row + "\x00" + rows[i].fields), value: pack(Expired, line)}
	}
	ended, err := s.finishAll(ctx, m.ID, es)
	if err != nil {
		return nil, err
	}
	gone := tasks[:0]
	for i, ok := range ended {
		if ok {
			gone = append(gone, tasks[i])
		}
	}
	s.deleteTasks(queue, slices.Clone(gone))
	return gone, nil
}

// errorMsgField is asynq v0.26's TaskMessage.error_msg (internal/proto/asynq.proto).
const errorMsgField = 7

// LastErrors gives why tasks of a queue were put back last, as asynq shows it;
// "" for one that never was, or is gone.
func (s *Store) LastErrors(ctx context.Context, queue string, tasks []Task) ([]string, error) {
	prefix := "asynq:{" + queue + "}:"
	args := make([]any, 0, 1+len(tasks))
	args = append(args, prefix+"t:")
	for _, t := range tasks {
		args = append(args, t.ID())
	}
	out, err := s.call(ctx, messagesScript, []string{prefix + "retry"}, args, len(tasks))
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(tasks))
	for i, v := range out {
		texts[i] = errorMsg([]byte(str(v)))
	}
	return texts, nil
}

// errorMsg reads the field of a message that was encoded as protobuf; of one
// that is there twice the last counts.
func errorMsg(b []byte) (text string) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return text
		}
		b = b[n:]
		if num == errorMsgField && typ == protowire.BytesType {
			if v, k := protowire.ConsumeBytes(b); k >= 0 {
				text = string(v)
			}
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return text
		}
		b = b[n:]
	}
	return text
}
