package worker

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The patience of our Redis client. asynq v0.26 never repairs a completion that
// Redis refused (its repair runs under a context that is cancelled by then), so
// the row would run and be paid for again. The completion itself must wait: 25
// tries of 0.1 to 2 s cover an outage as long as a task's lease of 30 s.
const (
	redisRetries    = 25
	redisMinBackoff = 100 * time.Millisecond
	redisMaxBackoff = 2 * time.Second
	redisDialLimit  = 2 * time.Second
	redisSpareConns = 20 // heartbeats, forwarders, pulls and subscriptions beside the calls
	redisProtocol   = 2  // under RESP3 the client looks for push messages before each command, which we have none of
)

// PatientClient connects to the Redis that a URL names, with patient retries
// and a connection for each of the given number of concurrent calls:
//
//	redis://[user:password@]host[:port][/db]           one server (rediss:// with TLS)
//	redis-socket://[user:password@]/path[?db=n]        a Unix socket
//	redis-sentinel://[…@]host[:port],…[/db]?master=m   Sentinel; 26379 is the default port
//	redis-cluster://[…@]host[:port],…                  Cluster; any of its nodes
//
// rediss-sentinel:// and rediss-cluster:// use TLS. User and password are those
// of the data nodes on every scheme; sentinel_username and sentinel_password in
// the query are the sentinels' own. With TLS, ca_file names a certificate
// authority and skip_verify=true accepts any certificate.
//
// Nothing is sent yet: Ping tells whether Redis is there. An error names what is
// wrong with the URL and never repeats it, since it may hold a password.
func PatientClient(rawURL string, concurrency int) (redis.UniversalClient, error) {
	u, err := parseRedisURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redis URL: %w", err)
	}
	pool := concurrency + redisSpareConns
	var c redis.UniversalClient
	switch {
	case u.sentinel:
		c = redis.NewFailoverClient(u.failoverOptions(pool))
	case u.cluster:
		c = redis.NewClusterClient(u.clusterOptions(pool))
	default:
		c = redis.NewClient(u.singleOptions(pool))
	}
	c.AddHook(newSpinGuard())
	return c, nil
}

// LogRedis gives the client library's own lines, which go to standard error
// otherwise, to log at level debug: it writes one for each failed dial, and an
// outage is reported by those who meet it. It holds for the whole process.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLogger{log}) }

type redisLogger struct{ log *slog.Logger }

// Printf implements go-redis's logging interface.
func (r redisLogger) Printf(_ context.Context, format string, args ...any) {
	if r.log.Enabled(context.Background(), slog.LevelDebug) {
		r.log.Debug("go-redis: " + fmt.Sprintf(format, args...))
	}
}

// redisURL is a parsed address. net/url cannot read it: since Go 1.26 it refuses
// the colons of a list of hosts.
type redisURL struct {
	sentinel, cluster, socket bool
	hosts                     []string
	username, password        string
	db                        int
	query                     url.Values
	tls                       *tls.Config
}

func parseRedisURL(raw string) (redisURL, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return redisURL{}, errors.New("want redis://, rediss://, redis-socket://, redis-sentinel:// or redis-cluster://")
	}
	var u redisURL
	secure, err := u.setScheme(scheme)
	if err != nil {
		return redisURL{}, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	if u.query, err = url.ParseQuery(query); err != nil {
		return redisURL{}, errors.New("its query cannot be read")
	}
	authority, path, _ := strings.Cut(afterUser(rest), "/")
	if err := errors.Join(u.setUser(rest), u.setHosts(authority, path), u.setDB(path), u.check()); err != nil {
		return redisURL{}, err
	}
	if secure {
		u.tls, err = u.tlsConfig()
	}
	return u, err
}

func (u *redisURL) setScheme(scheme string) (secure bool, err error) {
	switch kind, ok := strings.CutPrefix(scheme, "rediss"); {
	case ok:
		scheme, secure = "redis"+kind, true
	}
	switch scheme {
	case "redis":
	case "redis-socket", "unix":
		u.socket = true
	case "redis-sentinel":
		u.sentinel = true
	case "redis-cluster":
		u.cluster = true
	default:
		return false, fmt.Errorf("unknown scheme %q; want redis, rediss, redis-socket, redis-sentinel or redis-cluster", scheme)
	}
	return secure, nil
}

// afterUser cuts "user:password@"; a password may hold '@' only as %40.
func afterUser(rest string) string {
	if i := userEnd(rest); i >= 0 {
		return rest[i+1:]
	}
	return rest
}

// userEnd is the place of the '@' that ends the user part, or -1. A password
// pasted without escaping may hold '/' and '@': the last '@' counts.
func userEnd(rest string) int { return strings.LastIndexByte(rest, '@') }

func (u *redisURL) setUser(rest string) error {
	i := userEnd(rest)
	if i < 0 {
		return nil
	}
	name, password, both := strings.Cut(rest[:i], ":")
	var err1, err2 error
	u.username, err1 = url.PathUnescape(name)
	u.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("user or password has a bad %-escape; write % as %25")
	}
	if !both {
		return errors.New("user without a password; write user:password@ or :password@")
	}
	return nil
}

func (u *redisURL) setHosts(authority, path string) error {
	if u.socket {
		u.hosts = []string{"/" + path}
		return nil
	}
	port := "6379"
	if u.sentinel {
		port = "26379"
	}
	for h := range strings.SplitSeq(authority, ",") {
		if h = strings.TrimSpace(h); h == "" {
			return errors.New("a host is missing")
		}
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), port)
		}
		u.hosts = append(u.hosts, h)
	}
	if len(u.hosts) > 1 && !u.sentinel && !u.cluster {
		return errors.New("several hosts need redis-sentinel:// or redis-cluster://")
	}
	return nil
}

func (u *redisURL) setDB(path string) error {
	text := strings.Trim(path, "/")
	if u.socket {
		text = ""
	}
	if text = cmp.Or(u.query.Get("db"), text); text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("the database must be a number, as in redis://host:6379/0")
	}
	if u.db = n; n != 0 && u.cluster {
		return errors.New("a cluster has only database 0")
	}
	return nil
}

func (u *redisURL) check() error {
	known := map[string]bool{"db": true, "master": true, "sentinel_username": true, "sentinel_password": true, "ca_file": true, "skip_verify": true}
	for name := range u.query {
		if !known[name] {
			return fmt.Errorf("unknown setting %q in its query", name)
		}
	}
	if u.sentinel && u.query.Get("master") == "" {
		return errors.New("Sentinel needs ?master=NAME, the name in the sentinels' own configuration")
	}
	return nil
}

func (u *redisURL) tlsConfig() (*tls.Config, error) {
	host, _, _ := net.SplitHostPort(u.hosts[0])
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: u.query.Get("skip_verify") == "true"} //nolint:gosec // asked for by name
	if len(u.hosts) == 1 && !u.sentinel && !u.cluster {
		c.ServerName = host // otherwise each node is verified by the name it was dialled by
	}
	file := u.query.Get("ca_file")
	if file == "" {
		return c, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file %s has no certificate", file)
	}
	return c, nil
}

func (u *redisURL) singleOptions(pool int) *redis.Options {
	network := "tcp"
	if u.socket {
		network = "unix"
	}
	return &redis.Options{
		Network: network, Addr: u.hosts[0], Username: u.username, Password: u.password, DB: u.db, TLSConfig: u.tls,
		MaxRetries: redisRetries, MinRetryBackoff: redisMinBackoff, MaxRetryBackoff: redisMaxBackoff,
		DialTimeout: redisDialLimit, PoolSize: pool, Protocol: redisProtocol, MaintNotificationsConfig: quiet(),
	}
}

func (u *redisURL) failoverOptions(pool int) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: u.query.Get("master"), SentinelAddrs: u.hosts,
		SentinelUsername: u.query.Get("sentinel_username"), SentinelPassword: u.query.Get("sentinel_password"),
		Username: u.username, Password: u.password, DB: u.db, TLSConfig: u.tls,
		MaxRetries: redisRetries, MinRetryBackoff: redisMinBackoff, MaxRetryBackoff: redisMaxBackoff,
		DialTimeout: redisDialLimit, PoolSize: pool, Protocol: redisProtocol,
	}
}

// clusterOptions: a cluster client repeats through MaxRedirects, with the same
// pauses, because the node to ask may have changed.
func (u *redisURL) clusterOptions(pool int) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: u.hosts, Username: u.username, Password: u.password, TLSConfig: u.tls,
		MaxRedirects: redisRetries, MinRetryBackoff: redisMinBackoff, MaxRetryBackoff: redisMaxBackoff,
		DialTimeout: redisDialLimit, PoolSize: pool, Protocol: redisProtocol, MaintNotificationsConfig: quiet(),
	}
}

// quiet leaves out the maintenance handshake of Redis Enterprise, which costs an
// error reply for each connection elsewhere.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
