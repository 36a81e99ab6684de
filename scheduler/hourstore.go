package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// UsageSource gives what was counted between two times.
type UsageSource interface {
	Usage(ctx context.Context, step gemini.Step, from, to time.Time) ([]gemini.UsageSample, error)
}

// Usage implements UsageSource.
func (m MeterSource) Usage(ctx context.Context, step gemini.Step, from, to time.Time) ([]gemini.UsageSample, error) {
	return gemini.ReadMeter(ctx, m.Redis, m.Scope, step, from, to)
}

const (
	hoursKept = 36 * 24 // as long as the meter keeps its hours
	// minutesFor is how long after an hour its minutes are still there: the meter
	// keeps them for 50 hours.
	minutesFor = 48 * time.Hour
	// hourSettles is how long after its end an hour is taken: what was counted
	// while Redis was away comes late.
	hourSettles = 5 * time.Minute

	fieldDone = "done" // hash of hours: the hour that was taken last
)

// hourStore keeps each hour's use in Redis: the sums and largest minutes of
// classes, which the meter itself forgets after two days.
//
//	hours   hash: done → hour taken last, HOUR → {"region/model|class": numbers},
//	        known:LANE|CLASS → since when a week of it is known
type hourStore struct {
	*Control
	source UsageSource

	done  int64                        // hour in memory that is the last; 0: nothing was read yet
	hours map[int64]map[useKey]hourUse // by hour
}

func (s *hourStore) key() string { return scopeKey(s.Scope, "hours") }

// catchUp takes the hours that have ended since the last time, by whichever
// process that was.
func (s *hourStore) catchUp(ctx context.Context, now time.Time) error {
	stored, err := s.Redis.HGet(ctx, s.key(), fieldDone).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("learned hours: %w", err)
	}
	if stored != s.done || s.hours == nil {
		if err := s.load(ctx, stored); err != nil {
			return err
		}
	}
	last := hourIndex(now.Add(-hourSettles)) - 1
	if s.done >= last {
		return nil
	}
	fresh, err := s.take(ctx, max(s.done+1, last-hoursKept+1), last, now)
	if err != nil {
		return err
	}
	return s.store(ctx, fresh, last)
}

// load reads what is stored.
func (s *hourStore) load(ctx context.Context, done int64) error {
	all, err := s.Redis.HGetAll(ctx, s.key()).Result()
	if err != nil {
		return fmt.Errorf("learned hours: %w", err)
	}
	hours := map[int64]map[useKey]hourUse{}
	for field, text := range all {
		h, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			continue // not an hour
		}
		if hours[h], err = unpackHour(text); err != nil {
			return fmt.Errorf("learned hours: %s: %w", field, err)
		}
	}
	s.done, s.hours = done, hours
	return nil
}

// take reads hours from the meter: by their minutes where these are still there.
func (s *hourStore) take(ctx context.Context, from, last int64, now time.Time) (map[int64]map[useKey]hourUse, error) {
	out := map[int64]map[useKey]hourUse{}
	minutes := max(from, hourIndex(now.Add(-minutesFor)))
	if from < minutes {
		samples, err := s.source.Usage(ctx, gemini.StepHour, hourStart(from), hourStart(minutes))
		if err != nil {
			return nil, err
		}
		for _, x := range samples {
			if h := hourIndex(x.At); out[h] == nil {
				out[h] = map[useKey]hourUse{}
			}
			k := useKey{x.Region + "/" + x.Model, x.Class}
			out[hourIndex(x.At)][k] = hourFromSum(plus(out[hourIndex(x.At)][k].sum, wanted(x)))
		}
	}
	for h := minutes; h <= last; h++ {
		samples, err := s.source.Usage(ctx, gemini.StepMinute, hourStart(h), hourStart(h+1))
		if err != nil {
			return nil, err
		}
		if len(samples) > 0 {
			out[h] = hourFromMinutes(samples)
		}
	}
	return out, nil
}

// store keeps what was taken, and drops what is too old. All of it is one
// command: a process that ends in between has taken nothing.
func (s *hourStore) store(ctx context.Context, fresh map[int64]map[useKey]hourUse, last int64) error {
	put := []any{fieldDone, last}
	for h, uses := range fresh {
		put = append(put, strconv.FormatInt(h, 10), packHour(uses))
	}
	if err := s.Redis.HSet(ctx, s.key(), put...).Err(); err != nil {
		return fmt.Errorf("learned hours: %w", err)
	}
	for h, uses := range fresh {
		s.hours[h] = uses
	}
	s.done = last
	return s.drop(ctx, last-hoursKept)
}

func (s *hourStore) drop(ctx context.Context, until int64) error {
	var old []string
	for h := range s.hours {
		if h <= until {
			old = append(old, strconv.FormatInt(h, 10))
			delete(s.hours, h)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if err := s.Redis.HDel(ctx, s.key(), old...).Err(); err != nil {
		return fmt.Errorf("learned hours: %w", err)
	}
	return nil
}

// of gives one class's hours of a lane.
func (s *hourStore) of(k useKey) map[int64]hourUse {
	out := map[int64]hourUse{}
	for h, uses := range s.hours {
		if u, ok := uses[k]; ok {
			out[h] = u
		}
	}
	return out
}

func unpackHour(text string) (map[useKey]hourUse, error) {
	var stored map[string][]int64
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, err
	}
	out := map[useKey]hourUse{}
	for name, numbers := range stored {
		h, err := hourFromList(numbers)
		if err != nil {
			return nil, err
		}
		k, ok := parseUseKey(name)
		if ok {
			out[k] = h
		}
	}
	return out, nil
}
