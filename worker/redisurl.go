package worker

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

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
	if kind, ok := strings.CutPrefix(scheme, "rediss"); ok {
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
		if _, _, err := net.SplitHostPort(h); err != nil {
			return errors.New("a host cannot be read; want NAME:PORT, or [ADDRESS]:PORT for IPv6")
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
		return errors.New("a sentinel URL needs ?master=NAME, the name in the sentinels' own configuration")
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
