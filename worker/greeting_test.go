package worker

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// TestDeadOnArrival: connections that are taken and closed at once, as by a balancer
// whose Redis is away, are given up for new ones. Without that the command has not
// ended after its deadline: the first connection is greeted for 40 s.
func TestDeadOnArrival(t *testing.T) {
	mini := miniredis.RunT(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n < 3 {
				_ = c.Close()
				continue
			}
			far, err := net.Dial("tcp", mini.Addr())
			if err != nil {
				_ = c.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, c); _ = far.Close() }()
			go func() { _, _ = io.Copy(c, far); _ = c.Close() }()
		}
	}()
	c, err := PatientClient("redis://"+l.Addr().String()+"/1", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Errorf("no answer by the fourth connection: %v", err)
	}
}
