package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// badLine is a way to Redis over TCP that a test can spoil while it is in use.
type badLine struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	now     spoiled               // guarded by mu
	changed chan struct{}         // closed when now changes; guarded by mu
	open    map[net.Conn]struct{} // both ends of all connections; guarded by mu
}

// spoiled is what is wrong with a line. The zero value is a good one.
type spoiled struct {
	cut    bool          // connections break, and new ones are refused
	silent bool          // they stay open, and nothing comes through: half-open
	delay  time.Duration // of each piece, each way
	drip   int           // bytes at once, a millisecond apart; 0: as they come
}

func newBadLine(t testing.TB, to string) *badLine {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &badLine{listener: l, to: to, changed: make(chan struct{}), open: map[net.Conn]struct{}{}}
	go b.accept()
	t.Cleanup(func() {
		_ = l.Close()
		b.set(spoiled{cut: true})
	})
	return b
}

func (b *badLine) url() string { return "redis://" + b.listener.Addr().String() + "/0" }

// set changes the line, also for what is on its way.
func (b *badLine) set(s spoiled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = s
	close(b.changed)
	b.changed = make(chan struct{})
	if s.cut {
		for c := range b.open {
			_ = c.Close()
		}
	}
}

func (b *badLine) state() (spoiled, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now, b.changed
}

func (b *badLine) accept() {
	for {
		near, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		go b.join(near)
	}
}

// join carries one connection until either end closes it.
func (b *badLine) join(near net.Conn) {
	defer near.Close()
	if !b.keep(near) {
		return
	}
	defer b.forget(near)
	far, err := net.Dial("tcp", b.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !b.keep(far) {
		return
	}
	defer b.forget(far)
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() { b.carry(way[0], way[1]); ended <- struct{}{} }()
	}
	<-ended
}

// keep remembers a connection, unless the line is cut.
func (b *badLine) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = struct{}{}
	return !b.now.cut
}

func (b *badLine) forget(c net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

func (b *badLine) carry(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && b.pass(to, buf[:n]) != nil || err != nil {
			return
		}
	}
}

// pass gives a piece on in the way that the line is in.
func (b *badLine) pass(to io.Writer, piece []byte) error {
	for len(piece) > 0 {
		s, changed := b.state()
		switch {
		case s.cut:
			return errors.New("the line is cut")
		case s.silent:
			<-changed
			continue
		}
		n := len(piece)
		if s.drip > 0 {
			n = min(n, s.drip)
			<-time.After(time.Millisecond)
		}
		<-time.After(s.delay)
		if _, err := to.Write(piece[:n]); err != nil {
			return err
		}
		piece = piece[n:]
	}
	return nil
}

// TestBadLine: what the proxy is told to do to a line is what happens to it.
func TestBadLine(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for c, err := server.Accept(); err == nil; c, err = server.Accept() {
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	line := newBadLine(t, server.Addr().String())
	c, err := net.Dial("tcp", line.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	echo := func(text string) error {
		if _, err := c.Write([]byte(text)); err != nil {
			return err
		}
		back := make([]byte, len(text))
		_, err := io.ReadFull(c, back)
		if err == nil && string(back) != text {
			t.Errorf("%q came back as %q", text, back)
		}
		return err
	}
	for _, s := range []spoiled{{}, {drip: 2}, {delay: time.Millisecond}} {
		line.set(s)
		if err := echo("hello there"); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	line.set(spoiled{silent: true})
	came := make(chan error, 1)
	go func() { came <- echo("into the silence") }()
	select {
	case err := <-came:
		t.Errorf("a silent line answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	line.set(spoiled{})
	if err := <-came; err != nil {
		t.Errorf("after the silence: %v", err)
	}
	line.set(spoiled{cut: true})
	if err := echo("gone"); err == nil {
		t.Error("a cut line answered")
	}
}
