package worker

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

// FuzzRedisURL: an address that is taken has hosts with ports and can be written again;
// what is refused is refused without the password.
func FuzzRedisURL(f *testing.F) {
	for _, raw := range []string{
		"redis://localhost:6379/2", "rediss://user:p%40ss@host", "redis-sentinel://a,b:26380/1?master=m", "redis-cluster://a:1,b:2,[::1]:3", "redis-socket:///tmp/redis.sock?db=3", "redis://:p/a@ss@host:1/0", "redis://host/x", "redis://a,b",
		"http://host", "redis://user@host", "redis://:%zz@host", "redis://host?db=-1", "redis://host?pasword=x", "redis-cluster://h/1", "redis://", "redis://host/0?db=1&db=2", "redis://h?skip_verify=%zz",
	} {
		f.Add(raw, "s3cret-Pa55")
	}
	f.Fuzz(func(t *testing.T, raw, password string) {
		if !strings.Contains(raw, "ca_file") { // no files are read here
			checkRedisURL(t, raw)
		}
		if len(password) < 8 {
			return
		}
		scheme, rest, _ := strings.Cut(raw, "://")
		secret := scheme + "://user:" + url.PathEscape(password) + "@" + rest[strings.LastIndexByte(rest, '@')+1:]
		if strings.Contains(rest, "ca_file") || strings.Contains(scheme+rest, password) {
			return
		}
		u, err := parseRedisURL(secret)
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", secret, err)
		}
		if err == nil && u.password != password && !strings.Contains(rest, "?") {
			t.Errorf("%q has password %q", secret, u.password)
		}
	})
}

func checkRedisURL(t *testing.T, raw string) {
	t.Helper()
	u, err := parseRedisURL(raw)
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%q: no words", raw)
		}
		return
	}
	if len(u.hosts) == 0 || u.db < 0 || u.db > 0 && u.cluster || u.sentinel && u.query.Get("master") == "" || len(u.hosts) > 1 && !u.sentinel && !u.cluster {
		t.Errorf("%q: %+v", raw, u)
	}
	for _, host := range u.hosts {
		if _, port, err := net.SplitHostPort(host); !u.socket && (err != nil || port == "" && !strings.Contains(raw, ":")) {
			t.Errorf("%q: host %q", raw, host)
		}
	}
}
