package dashboard

import (
	"context"
	"regexp"
	"strconv"
)

// asynqTries is what asynq is told as a task's retries: out of reach, since
// attempts are the run's affair (jobs.Store). On a page the number is a riddle.
var asynqTries = regexp.MustCompile(`"id":"([0-9a-z]+)-[0-9]+-[0-9]+"(.*?)"max_retry":1048576\b`)

// withAttempts puts the run's own number of retries in asynqmon's answers. In
// JSON a quote inside a text is escaped, so that no payload can look like a
// member.
func (f *formatter) withAttempts(ctx context.Context, body []byte) []byte {
	return asynqTries.ReplaceAllFunc(body, func(m []byte) []byte {
		part := asynqTries.FindSubmatch(m)
		n, ok := f.rest.retries(ctx, f.store, string(part[1]))
		if !ok {
			return m
		}
		tail := len(m) - len(strconv.Itoa(1048576))
		return strconv.AppendInt(m[:tail:tail], int64(n), 10)
	})
}
