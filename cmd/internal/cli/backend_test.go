package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRedisHostHidesThePassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://127.0.0.1:6379/0":                          "127.0.0.1:6379/0",
		"redis://:p@ss/w:rd@host:6379/0":                    "host:6379/0",
		"redis-sentinel://u:p@a,b:1/0?sentinel_password=xx": "a,b:1/0",
		"password": "the configured URL",
	} {
		if got := redisHost(url); got != want {
			t.Errorf("redisHost(%q) = %q, want %q", url, got, want)
		}
	}
}

func TestRedisAwayNamesTheRemedy(t *testing.T) {
	t.Parallel()
	err := redisAway("redis://:secret@h:1/0", context.DeadlineExceeded)
	if s := err.Error(); !strings.Contains(s, "no Redis at h:1/0: start one with `redis-server") || strings.Contains(s, "secret") {
		t.Error(s)
	}
	err = redisAway("redis://h:1/0", errors.New("NOAUTH Authentication required.\nmore"))
	if s := err.Error(); !strings.Contains(s, "refuses the login: NOAUTH Authentication required.; give user and password") {
		t.Error(s)
	}
}

func TestOlderThan(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]bool{"5.0.14": true, "6.0.9": true, "6.2.0": false, "7.0.15": false, "10.0": false, "6": true, "8.x": false, "unreadable": false} {
		if got := olderThan(v, minRedis); got != want {
			t.Errorf("olderThan(%s, %s) = %v", v, minRedis, got)
		}
	}
}
