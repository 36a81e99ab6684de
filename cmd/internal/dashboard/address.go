package dashboard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode"
)

// minToken is the fewest characters of a token: with that many, drawn at
// random, guessing over the network is hopeless.
const minToken = 16

// ErrOpen says that a dashboard would be open to others without a login.
var ErrOpen = errors.New("others could reach the dashboard without a login")

// Check says whether the dashboard may listen at an address with these tokens, the
// operators' and that of those who only look: on loopback without one, elsewhere
// only with one, since asynqmon itself has no login and its pages show what rows
// contain.
func Check(listen, token, viewToken string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("listen address %q: want HOST:PORT, such as %s", listen, DefaultListen)
	}
	if token != "" || viewToken != "" {
		return checkTokens(token, viewToken)
	}
	if !isLoopback(host) {
		return fmt.Errorf("%w at %s: set a token (dashboard.token or NIGHTSHIFT_DASHBOARD_TOKEN, at least %d characters), "+
			"or listen on %s and reach it by an SSH tunnel", ErrOpen, listen, minToken, DefaultListen)
	}
	return nil
}

// checkTokens finds what is wrong with those that are set.
func checkTokens(token, viewToken string) error {
	if token != "" {
		if err := checkToken(token); err != nil {
			return err
		}
	}
	switch {
	case viewToken == "":
		return nil
	case token == "":
		return errors.New("the dashboard has a view token and no token: set dashboard.token (NIGHTSHIFT_DASHBOARD_TOKEN) for those who operate")
	case viewToken == token:
		return errors.New("the dashboard's view token is its token: whoever may look could operate")
	}
	if err := checkToken(viewToken); err != nil {
		return fmt.Errorf("view_token: %w", err)
	}
	return nil
}

func checkToken(token string) error {
	switch {
	case len(token) < minToken:
		return fmt.Errorf("the dashboard's token has %d characters: at least %d are needed (openssl rand -hex 16)", len(token), minToken)
	case strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return errors.New("the dashboard's token has a space, a line break or a control character in it")
	}
	return nil
}

// isLoopback says that a host is this machine. An empty host is every
// interface; a name other than localhost could be anything.
func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostOf is a Host header without its port.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
