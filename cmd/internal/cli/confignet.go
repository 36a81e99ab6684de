package cli

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"nightshift/cmd/internal/dashboard"
)

// checkListeners looks at the addresses before any process takes them.
func (c *Config) checkListeners() error {
	if !address(c.Gateway.Listen) {
		return fmt.Errorf("gateway.listen: %q; want HOST:PORT such as 127.0.0.1:8484, with a port up to 65535", c.Gateway.Listen)
	}
	if err := c.Gateway.check(); err != nil {
		return err
	}
	if err := dashboard.Check(c.Dashboard.Listen, c.Dashboard.Token, c.Dashboard.ViewToken); err != nil {
		return fmt.Errorf("dashboard.listen: %w", err)
	}
	return nil
}

// address holds for HOST:PORT with a port that there can be.
func address(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// checkFeatures wants the features of runs to be among those that are listed.
func (c *Config) checkFeatures() error {
	for _, f := range c.Features {
		if err := nameOK("features", f); err != nil {
			return err
		}
	}
	return c.featureOK("run.feature", c.Run.Feature)
}

// gatewayURL is the base URL for clients of the gateway, as far as the
// configuration knows it.
func (c *Config) gatewayURL() string {
	host, port, err := net.SplitHostPort(c.Gateway.Listen)
	if err != nil {
		return c.Gateway.Listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			host = "THIS-HOST"
		}
	}
	return c.Gateway.TLS.scheme() + "://" + net.JoinHostPort(host, port) + c.Gateway.PathPrefix
}

func (g GatewayConfig) check() error {
	switch {
	case g.Leave != nil && *g.Leave < 0:
		return fmt.Errorf("gateway.leave: %s; want a time such as 5s, or 0", *g.Leave)
	case g.MaxConnections < 1:
		return fmt.Errorf("gateway.max_connections: %d; want at least 1", g.MaxConnections)
	case g.TLS.Cert == "" && g.TLS.Key != "":
		return fmt.Errorf("gateway.tls.cert: a key without its certificate; name both files, or neither for plain HTTP")
	case g.TLS.Cert != "" && g.TLS.Key == "":
		return fmt.Errorf("gateway.tls.key: a certificate without its key; name both files, or neither for plain HTTP")
	}
	return nil
}

func (t TLSConfig) scheme() string {
	if t.Cert != "" {
		return "https"
	}
	return "http"
}
