package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestDoctorRedisSettings: what loses jobs is a fault with its remedy, on a Redis that
// is set so.
func TestDoctorRedisSettings(t *testing.T) {
	t.Parallel()
	rdb, ctx := benchRedis(t), t.Context()
	for setting, want := range map[string]string{
		"allkeys-lru no": "maxmemory-policy: BAD, appendonly: BAD", "noeviction no": "maxmemory-policy: ok, appendonly: BAD",
		"volatile-ttl yes": "maxmemory-policy: BAD, appendonly: ok", "noeviction yes": "maxmemory-policy: ok, appendonly: ok",
	} {
		policy, aof, _ := strings.Cut(setting, " ")
		if err := rdb.ConfigSet(ctx, "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		if err := rdb.ConfigSet(ctx, "appendonly", aof).Err(); err != nil {
			t.Fatal(err)
		}
		list := redisSettings(ctx, rdb)
		if got := verdicts(list); got != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
		for _, k := range list {
			if k.Verdict == verdictBad && !strings.HasPrefix(k.Remedy, "CONFIG SET "+k.What) {
				t.Errorf("%+v names no remedy", k)
			}
		}
	}
}

// answers is a Redis that says so of itself, whatever else it is.
type answers struct{ info string }

func (a answers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a answers) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.(*redis.StringCmd).SetVal(a.info)
		return nil
	}
}

// TestDoctorRedisServer: old versions, a Cluster, and a disk on which nothing is kept.
func TestDoctorRedisServer(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		"redis_version:7.0.15\r\n":                                     "Redis version: ok",
		"redis_version:6.0.16\r\n":                                     "Redis version: BAD",
		"redis_version:7.2.4\r\ncluster_enabled:1\r\n":                 "Redis version: ok",
		"redis_version:7.2.4\r\naof_last_write_status:err\r\n":         "Redis version: ok, Redis on disk: BAD",
		"redis_version:7.2.4\r\nrdb_last_bgsave_status:err\r\n":        "Redis version: ok, Redis on disk: BAD",
		"redis_version:7.2.4\r\naof_last_write_status:ok\r\nx:err\r\n": "Redis version: ok",
		"": "Redis version: ?",
	} {
		rdb := redis.NewClient(&redis.Options{})
		rdb.AddHook(answers{info})
		list := checkServer(t.Context(), rdb)
		if got := verdicts(list); got != want {
			t.Errorf("%q: %s, want %s", info, got, want)
		}
		if strings.Contains(info, "cluster") != strings.Contains(list[0].Is, "a Cluster") {
			t.Errorf("%q: %+v", info, list[0])
		}
		_ = rdb.Close()
	}
}

// TestDoctorRights: a user with few rights is told all at once; with what doctor
// says it may do everything.
func TestDoctorRights(t *testing.T) {
	t.Parallel()
	admin, ctx := benchRedis(t), t.Context()
	acl := func(rules string) {
		t.Helper()
		args := []any{"ACL", "SETUSER", "night", "on", ">secret"}
		for word := range strings.FieldsSeq(rules) {
			args = append(args, word)
		}
		if err := admin.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("+@all -time -zadd -publish -set ~* &*")
	rdb := redis.NewClient(&redis.Options{Addr: admin.Options().Addr, Username: "night", Password: "secret"})
	t.Cleanup(func() { _ = rdb.Close() })
	lim := limiter.NewRedis(rdb, limiter.Scope{Provider: "gemini", Project: "p"}, limiter.RedisOptions{})
	rights, scripts := checkRights(ctx, rdb), checkScripts(ctx, lim)
	if rights.Verdict != verdictBad || rights.Is != "user night may not time, zadd, publish, set" {
		t.Errorf("%+v", rights)
	}
	if scripts.Verdict != verdictBad || !strings.HasPrefix(scripts.Is, "time, zadd: ") || !strings.HasSuffix(scripts.Remedy, "ACL SETUSER NAME "+rightsNeeded) {
		t.Errorf("%+v", scripts)
	}
	rules, ok := strings.CutPrefix(rights.Remedy, "ACL SETUSER night ")
	if !ok {
		t.Fatalf("%+v", rights)
	}
	acl("reset on >secret " + rules)
	if r, s := checkRights(ctx, rdb), checkScripts(ctx, lim); r.Verdict == verdictBad || s.Verdict != verdictGood {
		t.Errorf("with what doctor says: %+v, %+v", r, s)
	}
	for _, need := range asynqNeeds { // the user itself may not ask
		args := []any{"ACL", "DRYRUN", "night"}
		for _, word := range need {
			args = append(args, word)
		}
		if said, err := admin.Do(ctx, args...).Text(); said != "OK" || err != nil {
			t.Errorf("with what doctor says, %v: %s %v", need, said, err)
		}
	}
}

// TestDoctorClock: a clock that is off is a fault in both directions.
func TestDoctorClock(t *testing.T) {
	t.Parallel()
	rdb := benchRedis(t)
	for off, want := range map[time.Duration]verdict{0: verdictGood, time.Minute: verdictBad, -time.Minute: verdictBad} {
		k := checkClock(t.Context(), rdb, func() time.Time { return time.Now().Add(off) })
		if k.Verdict != want || want == verdictBad && !strings.Contains(k.Remedy, "NTP") {
			t.Errorf("%s off: %+v", off, k)
		}
	}
}

// TestDoctorDeadKey: a key that the provider refuses is a fault, though it is there.
func TestDoctorDeadKey(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	if k := s.be.checkKeyInUse(t.Context()); len(k) != 0 {
		t.Errorf("nothing is known against the key: %+v", k)
	}
	lane := limiter.Lane{Provider: "gemini", Project: "default", Region: "global", Model: "m"}
	_, err := s.be.lim.Trip(t.Context(), limiter.Trip{Lane: lane, Scope: limiter.BreakProject, Reason: limiter.ReasonCredentials, Certain: true, Key: "k", By: "w", Detail: "API key not valid"})
	s.check(err)
	k := s.be.checkKeyInUse(t.Context())
	if got := verdicts(k); got != "API key in use: BAD" || k[0].Is != "refused by the provider: API key not valid" || !strings.Contains(k[0].Remedy, "a key that works") {
		t.Errorf("%+v", k)
	}
}
