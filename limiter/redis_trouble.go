package limiter

import (
	"fmt"
	"strings"
)

// storeError says what is wrong with Redis, where its own words do not.
func storeError(err error) error {
	hint := ""
	switch text := err.Error(); {
	case strings.Contains(text, "unauthenticated multibulk"), strings.HasPrefix(text, "NOAUTH"), strings.HasPrefix(text, "WRONGPASS"):
		hint = "Redis wants a password that the URL does not have: "
	case strings.Contains(text, "can't run this command or subcommand"), strings.Contains(text, "ACL failure in script"):
		hint = "the Redis user lacks the right to a command that the scripts use (nightshift doctor names it): "
	}
	return fmt.Errorf("limiter: %s%w", hint, err)
}
