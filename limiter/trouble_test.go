package limiter

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// ownRedis is a server of one test, which may break it, reached through a proxy
// that may stall or cut.
type ownRedis struct {
	testing.TB
	dir, bin string
	port     int
	cmd      *exec.Cmd
	admin    *redis.Client // past the proxy
	*proxy
}

func startOwn(t testing.TB, args ...string) *ownRedis {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server is installed") // TestMain sees to it under CI
	}
	s := &ownRedis{TB: t, dir: t.TempDir(), bin: bin, port: freePort(t)}
	s.start(args...)
	s.proxy = newProxy(t, s.socket())
	return s
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *ownRedis) socket() string { return filepath.Join(s.dir, "redis.sock") }

func (s *ownRedis) start(args ...string) {
	s.Helper()
	s.cmd = exec.Command(s.bin, append([]string{"--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--unixsocket", s.socket(),
		"--save", "", "--appendonly", "no", "--dir", s.dir}, args...)...)
	if err := s.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	cmd := s.cmd
	s.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s.admin = redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), MaxRetries: 200, MinRetryBackoff: 20 * time.Millisecond, MaxRetryBackoff: 100 * time.Millisecond})
	s.Cleanup(func() { _ = s.admin.Close() })
	if err := s.admin.Ping(context.Background()).Err(); err != nil {
		s.Fatal(err)
	}
}

// kill ends the server as a crash does.
func (s *ownRedis) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// do is a command past the proxy.
func (s *ownRedis) do(args ...any) {
	s.Helper()
	if err := s.admin.Do(s.Context(), args...).Err(); err != nil {
		s.Fatalf("%v: %v", args, err)
	}
}

// client dials through the proxy.
func (s *ownRedis) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Dialer: s.dial, MaxRetries: 2, DialerRetries: 1, ReadTimeout: time.Minute, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 2 * time.Millisecond})
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// proxy passes connections on, holds what they carry, or refuses them.
type proxy struct {
	mu     sync.Mutex
	free   *sync.Cond
	target string // a socket; "" refuses
	held   bool   // nothing passes to the server
	open   []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	p := &proxy{target: target}
	p.free = sync.NewCond(&p.mu)
	t.Cleanup(func() { p.hold(false); p.lead("") })
	return p
}

// lead makes all connections end, and new ones go to target.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) hold(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = on
	p.free.Broadcast()
}

func (p *proxy) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	if target == "" {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: net.ErrClosed}
	}
	server, err := new(net.Dialer).DialContext(ctx, "unix", target)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := pair(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.open = append(p.open, server, theirs)
	p.mu.Unlock()
	go func() { _, _ = io.Copy(theirs, server); _ = theirs.Close() }()
	go p.pass(server, theirs)
	return ours, nil
}

// pair is a connection's two ends, of the system: a Pipe ends with an error that no
// network gives.
func pair(ctx context.Context) (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	return a, b, err
}

// pass carries what the client says, unless it is held.
func (p *proxy) pass(server, from net.Conn) {
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.held {
			p.free.Wait()
		}
		p.mu.Unlock()
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}
