package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/cmd/internal/tenants"
	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/worker"
)

// backend is the shared state as one command uses it.
type backend struct {
	conf  *loaded
	rdb   redis.UniversalClient
	store *jobs.Store
	lim   *limiter.Redis
	book  *tenants.Book
	waits *rowWaits
	log   *slog.Logger
	deed  *deed // of the command that opened it
}

// close ends the connection, unless the audit log still needs it.
func (b *backend) close() {
	if !b.deed.holds(b) {
		_ = b.rdb.Close()
	}
}

// errEmbedded is why the fleet's processes refuse the embedded Redis.
func errEmbedded(command string) error {
	return fmt.Errorf("%s needs a Redis that its fleet shares: with the embedded one, each process would have a limiter of its own "+
		"and together they would exceed the quota. Start one (`redis-server --appendonly yes --maxmemory-policy noeviction`) "+
		"and give --redis redis://127.0.0.1:6379/0 or set redis in %s", command, configName)
}

// openFleet reaches the Redis that a fleet shares.
func (f *factory) openFleet(ctx context.Context, command string) (*backend, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	if c.Redis == "embedded" {
		return nil, errEmbedded(command)
	}
	return f.connect(ctx, c)
}

// openAny reaches the configured Redis, or the embedded one of a run that is
// going in another terminal.
func (f *factory) openAny(ctx context.Context) (*backend, error) {
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	if c.Redis != "embedded" {
		return f.connect(ctx, c)
	}
	opts, err := attachEmbedded(c.stateDir())
	if err != nil {
		return nil, err
	}
	return f.backend(c, redis.NewClient(opts)), nil
}

// withRun finds the run that ref means ("" is the latest) and does something
// with it.
func (f *factory) withRun(ctx context.Context, ref string, do func(*backend, jobs.Run) error) error {
	be, err := f.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	run, err := be.store.Find(ctx, ref)
	if err != nil {
		return err
	}
	return do(be, run)
}

func (f *factory) connect(ctx context.Context, c *loaded) (*backend, error) {
	rdb, err := worker.PatientClient(c.Redis, c.Worker.Concurrency)
	if err != nil {
		return nil, configErrorf("redis (from %s): %v", c.Sources["redis"], err)
	}
	if err := checkRedis(ctx, c.Redis, rdb); err != nil {
		_ = rdb.Close()
		return nil, err
	}
	return f.backend(c, rdb), nil
}

func (f *factory) backend(c *loaded, rdb redis.UniversalClient) *backend {
	log := f.log
	if log == nil {
		log = newLogger(f.Err, LogConfig{Level: "warn"}, c.secrets()...)
	}
	lim := limiter.NewRedis(rdb, c.scope(), limiter.RedisOptions{Logger: log})
	brake := worker.Brake{Closer: lim, Logger: log}
	waits := &rowWaits{}
	b := &backend{
		conf: c,
		rdb:  rdb,
		store: jobs.NewStore(rdb, jobs.StoreOptions{Timeout: taskTimeout(c), Drained: c.resultsDir(), Logger: log, Braked: brake.Stop,
			Closed: worker.ClosedBy(lim, rdb), Waited: waits.take}),
		waits: waits,
		lim:   lim,
		log:   log,
		deed:  f.deed,
	}
	f.deed.opened(b)
	b.book = b.newBook(f.now)
	return b
}

// newBook keeps the project's tenants, for commands, pages and the API.
func (b *backend) newBook(now func() time.Time) *tenants.Book {
	return &tenants.Book{
		Redis: b.rdb, Scope: b.conf.scope(), Limiter: b.lim, Keys: gateway.NewKeys(b.rdb, now), Classes: classNames(), Features: b.conf.Features,
		Zone: b.conf.spendZone(), Now: now,
		Ready: func(ctx context.Context) error {
			if len(b.conf.Models) == 0 {
				return b.conf.noLimits("gemini-3.5-flash")
			}
			return b.configure(ctx)
		},
	}
}

// redisLog takes what the Redis client prints on its own: each failed dial of a
// pool, which the commands that failed report anyway.
type redisLog struct{}

// Printf drops the line: whoever asked gets the error.
func (redisLog) Printf(context.Context, string, ...any) {}

// taskTimeout is asynq's bound on one handler: a call, the wait for a slot, and
// time to store the answer. A run's tier may change while its tasks wait, so that a
// call by flex counts.
func taskTimeout(c *loaded) time.Duration {
	return max(c.Worker.CallTimeout, c.Worker.FlexTimeout) + 5*time.Minute
}

const minRedis = "6.2"

// checkRedis asks once, without the patience that running workers need: at the
// start a person waits for the answer.
func checkRedis(ctx context.Context, url string, rdb redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	info, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return redisAway(url, err)
	}
	if v := infoField(info, "redis_version"); v != "" && olderThan(v, minRedis) {
		return fmt.Errorf("the Redis at %s is version %s; nightshift needs %s or newer", redisHost(url), v, minRedis)
	}
	return nil
}

// redisAway is the one line for a Redis that does not answer.
func redisAway(url string, err error) error {
	var network net.Error
	text := err.Error()
	switch {
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOPERM"):
		return fmt.Errorf("the Redis at %s refuses the login: %s; give user and password in the URL", redisHost(url), firstLine(text))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return &noRedisError{redisHost(url)}
	case strings.HasPrefix(text, "LOADING "):
		return fmt.Errorf("the Redis at %s answers %q (%w)", redisHost(url), firstLine(text), errLoading)
	}
	return fmt.Errorf("the Redis at %s answers %q", redisHost(url), firstLine(text))
}

// noRedisError says that nothing answers at a host.
type noRedisError struct{ host string }

func (e *noRedisError) Error() string {
	return "no Redis at " + e.host + ": start one with `redis-server --appendonly yes --maxmemory-policy noeviction`, or give --redis URL"
}

// errLoading is of a Redis that has just started.
var errLoading = errors.New("it will answer soon")

// redisGone says that an error means that Redis does not answer; nil for any other.
func (b *backend) redisGone(err error) error {
	var network net.Error
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		return nil
	}
	return fmt.Errorf("the Redis at %s does not answer; see: nightshift doctor", redisHost(b.conf.Redis))
}

// redisAnswers asks it.
func (b *backend) redisAnswers(ctx context.Context) error {
	err := b.rdb.Ping(ctx).Err()
	return cmp.Or(b.redisGone(err), err)
}

// redisHost is the part of a Redis URL that may be shown: no password.
func redisHost(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return "the configured URL"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// olderThan compares dotted versions; what cannot be read counts as new enough.
func olderThan(v, least string) bool {
	a, b := strings.Split(v, "."), strings.Split(least, ".")
	for i := range b {
		if i >= len(a) {
			return true
		}
		x, err1 := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err1 != nil || err2 != nil || x > y {
			return false
		}
		if x < y {
			return true
		}
	}
	return false
}

// afterScheme is a URL without its scheme and query.
func afterScheme(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}
