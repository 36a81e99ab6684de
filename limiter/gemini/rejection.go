package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// rejectionsKept bounds the list of what the provider refused.
const rejectionsKept = 500

// Rejection is evidence that a lane is used by others: the provider refused, for
// a limit, what the gate had admitted.
type Rejection struct {
	At         time.Time `json:"-"`                     // Redis's clock
	Lane       string    `json:"lane"`                  // as limiter.Lane.String writes it
	Limit      string    `json:"limit"`                 // the provider's limit by our shorthand: "rpm", "input_tpm", "rpd", …; "capacity" is no quota
	QuotaValue int64     `json:"quota_value,omitempty"` // what the provider says the limit is; 0 when it does not
	Class      string    `json:"class"`                 //
	Feature    string    `json:"feature"`               //
	Trace      string    `json:"trace"`                 // of the last of them
	N          int64     `json:"n"`                     // how many within about a second
}

// ReadRejections gives the lately refused since a time, oldest first. The last
// 500 entries are kept.
func ReadRejections(ctx context.Context, rdb redis.UniversalClient, scope limiter.Scope, since time.Time) ([]Rejection, error) {
	lines, err := rdb.LRange(ctx, newMeterKeys(scope).rejections, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("gemini: rejections: %w", err)
	}
	out := []Rejection{}
	for _, line := range lines {
		r, err := parseRejection(line)
		if err != nil {
			return nil, fmt.Errorf("gemini: rejections: %w", err)
		}
		if !r.At.Before(since) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Rejection) int { return a.At.Compare(b.At) })
	return out, nil
}

func parseRejection(line string) (r Rejection, err error) {
	at, rest, _ := strings.Cut(line, "|")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return r, err
	}
	err = json.Unmarshal([]byte(rest), &r)
	r.At = time.UnixMilli(ms)
	return r, err
}
