package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkServer is Redis's version, and that it writes to disk what it should.
func checkServer(ctx context.Context, rdb redis.UniversalClient) []checkup {
	info, err := rdb.Info(ctx).Result() // older ones take no list of sections
	version := infoField(info, "redis_version")
	if err != nil || version == "" {
		return []checkup{{"Redis version", verdictUnknown, "this Redis does not tell", "ask its operator: 6.2 or newer is needed"}}
	}
	is := version
	if infoField(info, "cluster_enabled") == "1" {
		is += ", a Cluster: a run, and a project's limits, each live on one of its nodes"
	}
	out := []checkup{{"Redis version", verdictGood, is, ""}}
	if olderThan(version, "6.2") {
		out[0] = checkup{"Redis version", verdictBad, version, "update Redis to 6.2 or newer"}
	}
	for field, what := range map[string]string{"aof_last_write_status": "append-only file", "rdb_last_bgsave_status": "snapshot"} {
		if s := infoField(info, field); s != "" && s != "ok" {
			out = append(out, checkup{"Redis on disk", verdictBad, "its last " + what + " failed", "make room on Redis's disk and see its log; until then writes are refused or lost at a restart"})
		}
	}
	return out
}

// rightsNeeded are all that our Redis user has to have, for ACL SETUSER: whoever gives
// one of them alone meets the next.
const rightsNeeded = "+@all -@dangerous +info ~nightshift:* ~{nightshift:* ~asynq:* &asynq:*"

// asynqNeeds are commands of the queue beside the limiter's scripts, on its own keys.
var asynqNeeds = [][]string{
	{"TIME"}, {"INFO"}, {"HSET", "{nightshift:fleet}:served", "a", "b"},
	{"EVALSHA", "x", "1", "asynq:{q}:pending"}, {"ZADD", "asynq:{q}:scheduled", "1", "x"}, {"SADD", "asynq:queues", "x"},
	{"PUBLISH", "asynq:cancel", "x"}, {"SUBSCRIBE", "asynq:cancel"}, {"SET", "nightshift:{x}:x", "1"}, {"XADD", "nightshift:{x}:x", "*", "a", "b"},
}

// checkRights asks Redis what our user may do, where it can tell without doing it.
func checkRights(ctx context.Context, rdb redis.UniversalClient) checkup {
	user, err := rdb.Do(ctx, "ACL", "WHOAMI").Text()
	if err != nil {
		return checkup{"rights", verdictUnknown, "this Redis does not tell", ""}
	}
	var lacks []string
	for _, need := range asynqNeeds {
		args := []any{"ACL", "DRYRUN", user}
		for _, word := range need {
			args = append(args, word)
		}
		said, err := rdb.Do(ctx, args...).Text()
		if err != nil {
			return checkup{"rights", verdictUnknown, "this Redis cannot tell (it is older than 7, or forbids it)", ""}
		}
		if said != "OK" {
			lacks = append(lacks, strings.ToLower(need[0]))
		}
	}
	if len(lacks) > 0 {
		return checkup{"rights", verdictBad, "user " + user + " may not " + strings.Join(lacks, ", "),
			"ACL SETUSER " + user + " " + rightsNeeded}
	}
	return checkup{"rights", verdictGood, "user " + user + " may do what queues need", ""}
}

// checkRedisOpen looks at how Redis is reached: whoever reaches it without a password
// rules the queues and reads the rows.
func checkRedisOpen(text string) checkup {
	u, err := url.Parse(text)
	if err != nil || loopbackHost(u.Hostname()) {
		return checkup{"way to Redis", verdictGood, "stays on this machine", ""}
	}
	_, secret := u.User.Password()
	secure := strings.HasPrefix(u.Scheme, "rediss")
	switch {
	case !secret:
		return checkup{"way to Redis", verdictBad, u.Hostname() + " is asked without a password", "give Redis a user or requirepass, and put it into the URL: rediss://USER:PASSWORD@HOST"}
	case !secure:
		return checkup{"way to Redis", verdictNote, "rows and the password go to " + u.Hostname() + " unencrypted", "rediss:// if that is not a network of your own"}
	}
	return checkup{"way to Redis", verdictGood, fmt.Sprintf("%s, encrypted, with a password", u.Hostname()), ""}
}
