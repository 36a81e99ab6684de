package gemini

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TenantUse is what calls of one kind used in one step of time.
type TenantUse struct {
	At                        time.Time // when the step begins
	Team, Key, Feature, Model string    // "" for none; OtherFeature beyond what is told apart
	UseCounts
}

// UseQuery asks what a tenant used in the steps that begin in From..To. A call belongs
// to the step in which its quota was held, whenever it ended.
type UseQuery struct {
	Tenant   string
	From, To time.Time      // To is not included
	Hours    bool           // steps of an hour, kept for eight days; else days, kept for 100
	Zone     *time.Location // of the days: that by which meters count money; nil means America/Los_Angeles
}

// The most that one query reads.
const (
	UseDaysKept  = 100
	UseHoursKept = 8 * 24
)

// ReadUse gives what the tenant used, in the order of time.
func ReadUse(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, q UseQuery) ([]TenantUse, error) {
	if q.Zone == nil {
		q.Zone = pacific
	}
	zone := q.Zone
	if q.Hours {
		zone = time.UTC
	}
	ks, tenant := newMeterKeys(scope), label(q.Tenant, 64)
	var keys, names []string
	var days []time.Time
	for d := dayOf(q.From.In(zone)); d.Before(q.To); d = dayOf(d.AddDate(0, 0, 1)) {
		if len(days) > UseDaysKept+1 {
			return nil, fmt.Errorf("gemini: what tenants used is kept for %d days", UseDaysKept)
		}
		day := d.Format(time.DateOnly)
		if days = append(days, d); q.Hours {
			keys = append(keys, ks.useHours(day, tenant))
		} else {
			keys = append(keys, ks.useDay(day, tenant))
		}
		if name := ks.useNames(day, tenant); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	buckets, err := meterReadScript.Run(ctx, rdb, append(keys, names...)).Slice()
	if err != nil {
		return nil, fmt.Errorf("gemini: use of a tenant: %w", err)
	}
	kinds := map[string]map[int]string{}
	for i, name := range names {
		if kinds[name], err = readNames(buckets[len(keys)+i]); err != nil {
			return nil, fmt.Errorf("gemini: use of a tenant: %w", err)
		}
	}
	var out []TenantUse
	for i, day := range days {
		got, err := readUse(day, kinds[ks.useNames(day.Format(time.DateOnly), tenant)], buckets[i])
		if err != nil {
			return nil, fmt.Errorf("gemini: use of a tenant: %w", err)
		}
		out = append(out, got...)
	}
	out = slices.DeleteFunc(out, func(u TenantUse) bool { return u.At.Before(q.From) || !u.At.Before(q.To) })
	slices.SortFunc(out, func(a, b TenantUse) int {
		if n := a.At.Compare(b.At); n != 0 {
			return n
		}
		return strings.Compare(a.Team+"|"+a.Key+"|"+a.Feature+"|"+a.Model, b.Team+"|"+b.Key+"|"+b.Feature+"|"+b.Model)
	})
	return out, nil
}

func dayOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// readNames reads what the kinds of a tenant's month are called, by number.
func readNames(bucket any) (map[int]string, error) {
	out := map[int]string{}
	err := eachField(bucket, func(name, number string) error {
		n, err := strconv.Atoi(number)
		out[n] = name
		return err
	})
	return out, err
}

// readUse reads one day's hash, of days or of hours.
func readUse(day time.Time, names map[int]string, bucket any) (out []TenantUse, err error) {
	err = eachCount(bucket, func(field string, c UseCounts) error {
		n, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		p := strings.Split(names[n/24], "|")
		if len(p) != 4 {
			return fmt.Errorf("%q is no name of use", names[n/24])
		}
		out = append(out, TenantUse{At: day.Add(time.Duration(n%24) * time.Hour), Team: p[0], Key: p[1], Feature: p[2], Model: p[3], UseCounts: c})
		return nil
	})
	return out, err
}

// eachCount reads a hash of counts as the script gives it.
func eachCount(bucket any, take func(field string, c UseCounts) error) error {
	return eachField(bucket, func(field, text string) error {
		var c UseCounts
		if err := c.unpack(text); err != nil {
			return err
		}
		return take(field, c)
	})
}

// eachField reads a hash as the script gives it.
func eachField(bucket any, take func(field, text string) error) error {
	flat, ok := bucket.([]any)
	if !ok {
		return fmt.Errorf("a bucket is %T", bucket)
	}
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		text, _ := flat[i+1].(string)
		if err := take(field, text); err != nil {
			return fmt.Errorf("%q is stored as %q: %w", field, text, err)
		}
	}
	return nil
}

// ReadUseTotals gives what every tenant used in the day of a moment. OtherFeature is
// what all beyond the first 20,000 tenants of the day used.
func ReadUseTotals(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, at time.Time, zone *time.Location) (map[string]UseCounts, error) {
	if zone == nil {
		zone = pacific
	}
	key := newMeterKeys(scope).use(at.In(zone).Format(time.DateOnly))
	got, err := meterReadScript.Run(ctx, rdb, []string{key}).Slice()
	if err != nil || len(got) != 1 {
		return nil, fmt.Errorf("gemini: use of tenants: %w", err)
	}
	out := map[string]UseCounts{}
	err = eachCount(got[0], func(tenant string, c UseCounts) error {
		out[tenant] = c
		return nil
	})
	return out, err
}
