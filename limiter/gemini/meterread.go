package gemini

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

//go:embed lua/meterread.lua
var meterReadLua string

var meterReadScript = redis.NewScript(meterReadLua)

// bucketsAtOnce bounds one read: an hour of minutes, some 2 ms of Redis's time.
const bucketsAtOnce = 60

// ReadMeter gives what was counted in the buckets that begin before to and end
// after from, by time, model, class and feature. Times are of Redis's clock; the
// bucket of now is not full yet. Two hours of minutes are three round trips, a
// week of hours four.
func ReadMeter(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, step Step, from, to time.Time) ([]UsageSample, error) {
	return readMeter(ctx, rdb, newMeterKeys(scope), step, from, to)
}

// readMeter reads buckets, and those that were packed.
func readMeter(ctx context.Context, rdb redis.UniversalClient, keys meterKeys, step Step, from, to time.Time) ([]UsageSample, error) {
	got, err := readBuckets(ctx, rdb, keys, step, from, to)
	if err != nil {
		return nil, err
	}
	from = limiter.Later(from, to.Add(-step.Kept()-step.Width()))
	got, err = addPacked(ctx, rdb, keys, step, from, to, got)
	if err != nil {
		return nil, fmt.Errorf("gemini: usage: %w", err)
	}
	return got, nil
}

func readBuckets(ctx context.Context, rdb redis.UniversalClient, keys meterKeys, step Step, from, to time.Time) ([]UsageSample, error) {
	if int(step) >= len(steps) {
		return nil, fmt.Errorf("gemini: no meter has step %d", step)
	}
	width := step.Width().Milliseconds()
	first, end := from.UnixMilli()/width, (to.UnixMilli()+width-1)/width
	if most := int64(step.Kept()/step.Width()) + 2; end-first > most {
		first = end - most // what is older has expired, if the caller's clock is right
	}
	r := meterReader{ctx: ctx, rdb: rdb, keys: keys, step: step}
	for ; first < end; first += bucketsAtOnce {
		if err := r.read(first, min(first+bucketsAtOnce, end)); err != nil {
			return nil, fmt.Errorf("gemini: usage: %w", err)
		}
	}
	return r.out, nil
}

type meterReader struct {
	ctx  context.Context
	rdb  redis.UniversalClient
	keys meterKeys
	step Step
	out  []UsageSample
}

func (r *meterReader) read(first, end int64) error {
	keys := make([]string, 0, bucketsAtOnce)
	for i := first; i < end; i++ {
		keys = append(keys, r.keys.bucket(r.step, i))
	}
	buckets, err := meterReadScript.Run(r.ctx, r.rdb, keys).Slice()
	if err != nil {
		return err
	}
	if len(buckets) != len(keys) {
		return fmt.Errorf("%d answers for %d buckets", len(buckets), len(keys))
	}
	for i, b := range buckets {
		if err := r.take(time.UnixMilli((first+int64(i))*r.step.Width().Milliseconds()), b); err != nil {
			return err
		}
	}
	return nil
}

// take reads one bucket's fields.
func (r *meterReader) take(at time.Time, bucket any) error {
	flat, ok := bucket.([]any)
	if !ok {
		return fmt.Errorf("a bucket is %T", bucket)
	}
	begin := len(r.out)
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		text, _ := flat[i+1].(string)
		key, ok := parseUsageKey(field)
		if !ok {
			continue
		}
		region, model, _ := strings.Cut(key.lane, "/")
		s := UsageSample{At: at, Region: region, Model: model, Class: key.class, Feature: key.feature}
		if err := s.unpack(text); err != nil {
			return err
		}
		r.out = append(r.out, s)
	}
	slices.SortFunc(r.out[begin:], compareSamples)
	return nil
}

func compareSamples(a, b UsageSample) int {
	return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Region, b.Region),
		cmp.Compare(a.Class, b.Class), cmp.Compare(a.Feature, b.Feature))
}

// MeterProcess is a process that counts.
type MeterProcess struct {
	Name string    // MeterOptions.Process
	Last time.Time // when it was last heard of, by Redis's clock; a live one says something every five seconds
}

// MeterProcesses gives those heard of within the last hour or so, the latest
// first. One that is silent has ended, or does not reach Redis: its calls are
// not in what is read.
func MeterProcesses(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope) ([]MeterProcess, error) {
	all, err := rdb.HGetAll(ctx, newMeterKeys(scope).root).Result()
	if err != nil {
		return nil, fmt.Errorf("gemini: usage: %w", err)
	}
	out := []MeterProcess{}
	for _, process := range slices.Sorted(maps.Keys(all)) {
		_, seen, _ := strings.Cut(all[process], " ")
		ms, err := strconv.ParseInt(seen, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("gemini: process %s is stored as %q", process, all[process])
		}
		name, _, _ := strings.Cut(process, "#")
		out = append(out, MeterProcess{Name: name, Last: time.UnixMilli(ms)})
	}
	slices.SortStableFunc(out, func(a, b MeterProcess) int { return b.Last.Compare(a.Last) })
	return out, nil
}
