package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"

	"github.com/redis/go-redis/v9"
)

// unserved gives the times in which no worker served a lane, as workers note them when
// they come (lua/fleet.lua); the last goes on while none is there. Of a lane that none
// has ever served it knows nothing.
func unserved(ctx context.Context, rdb redis.UniversalClient, lane string) ([]jobs.Stretch, error) {
	var got *redis.SliceCmd
	var clock *redis.TimeCmd
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		got, clock = p.HMGet(ctx, servedKey, "g:"+lane, "s:"+lane), p.Time(ctx)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("when %s was served: %w", lane, err)
	}
	gaps, _ := got.Val()[0].(string)
	out := readGaps(gaps)
	text, _ := got.Val()[1].(string)
	if last, ok := millis(text); ok && clock.Val().Sub(last) > beatFor {
		out = append(out, jobs.Stretch{Cause: jobs.WaitQueue, From: last})
	}
	return out, nil
}

// readGaps reads "from,to;from,to;"; what is no such pair is left out.
func readGaps(text string) (out []jobs.Stretch) {
	for one := range strings.SplitSeq(text, ";") {
		a, b, _ := strings.Cut(one, ",")
		from, ok := millis(a)
		if to, ok2 := millis(b); ok && ok2 {
			out = append(out, jobs.Stretch{Cause: jobs.WaitQueue, From: from, To: to})
		}
	}
	return out
}

func millis(text string) (time.Time, bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms), err == nil
}
