package worker

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestPatientClientURLs(t *testing.T) {
	for _, tc := range []struct {
		url, want string // want: hosts user password db
	}{
		{"redis://localhost", "localhost:6379 - - 0"},
		{"redis://u:p%40ss@h:1/3", "h:1 u p@ss 3"},
		{"redis://:a@b/c@h:1/3", "h:1 - a@b/c 3"},
		{"rediss://:pw@redis.example:6380", "redis.example:6380 - pw 0"},
		{"redis://[::1]:7000/2", "[::1]:7000 - - 2"},
		{"redis-socket:///run/redis.sock?db=4", "/run/redis.sock - - 4"},
		{"redis-sentinel://:pw@a,b:1,c/2?master=m", "a:26379,b:1,c:26379 - pw 2"},
		{"rediss-cluster://u:pw@a:1,b:2", "a:1,b:2 u pw 0"},
	} {
		u, err := parseRedisURL(tc.url)
		if err != nil {
			t.Errorf("%s: %v", tc.url, err)
			continue
		}
		dash := func(s string) string {
			if s == "" {
				return "-"
			}
			return s
		}
		got := strings.Join([]string{strings.Join(u.hosts, ","), dash(u.username), dash(u.password), string(rune('0' + u.db))}, " ")
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.url, got, tc.want)
		}
		if secure := strings.HasPrefix(tc.url, "rediss"); secure != (u.tls != nil) {
			t.Errorf("%s: TLS %v", tc.url, u.tls != nil)
		}
	}
}

// TestPatience: each kind of client waits out an outage (see redisRetries).
func TestPatience(t *testing.T) {
	single := clientOf[*redis.Client](t, "redis://h").Options()
	sentinel := clientOf[*redis.Client](t, "redis-sentinel://h?master=m").Options()
	cluster := clientOf[*redis.ClusterClient](t, "redis-cluster://h").Options()
	if single.MaxRetries != redisRetries || sentinel.MaxRetries != redisRetries || cluster.MaxRedirects != redisRetries {
		t.Errorf("retries: single %d, sentinel %d, cluster %d, want %d", single.MaxRetries, sentinel.MaxRetries, cluster.MaxRedirects, redisRetries)
	}
	if single.PoolSize < 10+redisSpareConns || single.DialTimeout != redisDialLimit || single.MaxRetryBackoff != redisMaxBackoff {
		t.Errorf("pool %d, dial timeout %v, backoff %v", single.PoolSize, single.DialTimeout, single.MaxRetryBackoff)
	}
}

func clientOf[T redis.UniversalClient](t *testing.T, url string) T {
	t.Helper()
	c, ok := client(t, url).(T)
	if !ok {
		t.Fatalf("%s gives a %T", url, c)
	}
	return c
}

// TestBadURLsKeepTheirSecret: every error says what to mend and never holds
// the password.
func TestBadURLsKeepTheirSecret(t *testing.T) {
	for url, want := range map[string]string{
		"localhost:6379":                           "want redis://",
		"http://:hunter2@h":                        "unknown scheme",
		"redis://:hunter2@":                        "host is missing",
		"redis://:hunter2@h/zero":                  "database must be a number",
		"redis://:hunter2@a,b":                     "redis-sentinel:// or redis-cluster://",
		"redis://hunter2@h":                        "user without a password",
		"redis://:hunter2%zz@h":                    "%25",
		"redis-sentinel://:hunter2@h":              "master",
		"redis-cluster://:hunter2@h/3":             "only database 0",
		"redis://:hunter2@h?timeout=3":             "timeout",
		"rediss://:hunter2@h?ca_file=/no/such/pem": "ca_file",
	} {
		_, err := PatientClient(url, 1)
		if err == nil {
			t.Errorf("%s was accepted", url)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, want %q and no password", url, err, want)
		}
	}
}
