package worker

import (
	"fmt"
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
	c.AddHook(newEmptyQueues(time.Now))
	c.AddHook(newSpinGuard())
	c.AddHook(greeting{})
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
