package cli

import (
	"os"
	"os/user"
)

// operator is who gives a command, for pauses and events: user@host.
func operator() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}
