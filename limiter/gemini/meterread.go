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

// ReadMeterOf is ReadMeter of some models alone: what others count is not sent, however
// many there are.
func ReadMeterOf(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, step Step, from, to time.Time, models ...string) ([]UsageSample, error) {
	if len(models) == 0 {
		return nil, nil
	}
	got, err := readMeter(ctx, rdb, newMeterKeys(scope), step, from, to, models...)
	return slices.DeleteFunc(got, func(s UsageSample) bool { return !slices.Contains(models, s.Model) }), err
}

// readMeter reads buckets, of some models if any are named, and those that were packed.
func readMeter(ctx context.Context, rdb redis.UniversalClient, keys meterKeys, step Step, from, to time.Time, models ...string) ([]UsageSample, error) {
	got, err := readBuckets(ctx, rdb, keys, step, from, to, models...)
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

func readBuckets(ctx context.Context, rdb redis.UniversalClient, keys meterKeys, step Step, from, to time.Time, models ...string) ([]UsageSample, error) {
	if int(step) >= len(steps) {
		return nil, fmt.Errorf("gemini: no meter has step %d", step)
	}
	width := step.Width().Milliseconds()
	first, end := from.UnixMilli()/width, (to.UnixMilli()+width-1)/width
	if most := int64(step.Kept()/step.Width()) + 2; end-first > most {
		first = end - most // what is older has expired, if the caller's clock is right
	}
	r := meterReader{ctx: ctx, rdb: rdb, keys: keys, step: step}
	if len(models) > 0 {
		r.only = wantedFields("^[^/]*/([^|]*)|", models...)
	}
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
	only []any // arguments of meterReadScript; none is all
	out  []UsageSample
}

// wantedFields has meterReadScript give only the fields of which a Lua pattern captures
// one of some words.
func wantedFields(pattern string, words ...string) []any {
	args := []any{pattern}
	for _, w := range words {
		args = append(args, w)
	}
	return args
}

func (r *meterReader) read(first, end int64) error {
	keys := make([]string, 0, bucketsAtOnce)
	for i := first; i < end; i++ {
		keys = append(keys, r.keys.bucket(r.step, i))
	}
	buckets, err := meterReadScript.Run(r.ctx, r.rdb, keys, r.only...).Slice()
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

// meterField is one of a bucket's, not yet unpacked: a sample is too large to be sorted.
type meterField struct {
	region, model, class, feature string
	text                          string
}

// take reads one bucket's fields.
func (r *meterReader) take(at time.Time, bucket any) error {
	var fields []meterField
	err := eachField(bucket, func(field, text string) error {
		if key, ok := parseUsageKey(field); ok {
			region, model, _ := strings.Cut(key.lane, "/")
			fields = append(fields, meterField{region, model, key.class, key.feature, text})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(fields, func(a, b meterField) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.region, b.region), cmp.Compare(a.class, b.class), cmp.Compare(a.feature, b.feature))
	})
	r.out = slices.Grow(r.out, len(fields))
	for _, f := range fields {
		s := UsageSample{At: at, Region: f.region, Model: f.model, Class: f.class, Feature: f.feature}
		if err := s.unpack(f.text); err != nil {
			return err
		}
		r.out = append(r.out, s)
	}
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
