package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// metricsOff is the address of a process that tells no metrics where the others do.
const metricsOff = "off"

// metricsAddr is where a process serves its metrics, and the key that says so; ""
// where it does not. own is what its section says.
func (c *Config) metricsAddr(process, own string) (addr, key string) {
	switch own {
	case metricsOff:
		return "", ""
	case "":
		return c.Metrics.Listen, "metrics.listen"
	}
	return own, process + ".metrics"
}

// checkMetrics looks at the addresses before any process takes them.
func (c *Config) checkMetrics() error {
	for _, m := range []struct{ key, addr string }{
		{"metrics.listen", c.Metrics.Listen}, {"worker.metrics", c.Worker.Metrics}, {"scheduler.metrics", c.Scheduler.Metrics},
		{"gateway.metrics", c.Gateway.Metrics}, {"dashboard.metrics", c.Dashboard.Metrics},
	} {
		if m.addr == "" || m.addr == metricsOff {
			continue
		}
		if _, err := ports(m.addr); err != nil {
			return fmt.Errorf("%s: %q; want HOST:PORT such as 127.0.0.1:9464, HOST:PORT-PORT where several processes share a machine, or off", m.key, m.addr)
		}
	}
	return nil
}

// ports are the addresses that HOST:PORT or HOST:FROM-TO names, in order. Without a
// host it is this machine alone: to be reached from elsewhere must be asked for.
func ports(addr string) ([]string, error) {
	host, span, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	from, to, several := strings.Cut(span, "-")
	if !several {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 10, 16)
	last, err2 := strconv.ParseUint(to, 10, 16)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if last < first || last-first >= mostPorts {
		return nil, fmt.Errorf("%d to %d is no span of at most %d ports", first, last, mostPorts)
	}
	var out []string
	for p := first; p <= last; p++ {
		out = append(out, net.JoinHostPort(host, strconv.FormatUint(p, 10)))
	}
	return out, nil
}

// mostPorts bounds a span: it is how many processes one machine has.
const mostPorts = 256

// listenFirst takes the first address of a span that is free.
func listenFirst(addr string) (net.Listener, error) {
	all, err := ports(addr)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		l, err := net.Listen("tcp", a)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	if len(all) == 1 {
		return nil, fmt.Errorf("%s is taken by another process; a span such as %s-%d gives each process of this machine its own", all[0], all[0], portOf(all[0])+15)
	}
	return nil, fmt.Errorf("all %d ports of %s are taken: name a longer span", len(all), addr)
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}
