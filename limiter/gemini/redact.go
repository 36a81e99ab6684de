package gemini

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
)

// secrets are the shapes of what must never be written down: Google API keys
// of both kinds, OAuth tokens, the gateway's own keys, and whatever stands where
// a credential does.
var secrets = regexp.MustCompile(`AIza[0-9A-Za-z_-]{10,}` +
	`|\bAQ\.[0-9A-Za-z_-]{10,}` +
	`|\bnsk_[A-Z2-7]{8,}` +
	`|\bya29\.[0-9A-Za-z._-]+` +
	`|(?i)\b(?:bearer|basic) +[0-9A-Za-z._~+/=-]{8,}` +
	`|(?i)((?:[?&]|%3f|%26)(?:key|access_token|oauth_token)(?:=|%3d))[^&\s"'#]+` +
	`|(?i)(x-goog-api-key["']?\s*[:=]\s*\[?["']?)[^\s"',\]]+`)

// Redact takes credentials out of a text that may be logged or shown.
func Redact(s string) string {
	return secrets.ReplaceAllString(s, "${1}${2}[redacted]")
}

// redactKey is Redact for texts that may hold one known key too.
func redactKey(s, key string) string {
	if len(key) >= 8 {
		s = strings.ReplaceAll(s, key, "[redacted]")
	}
	return Redact(s)
}

// cleanError is an error whose text holds no credentials. errors.Is still
// finds the well-known causes.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }

// redactError keeps credentials out of an error's text, and leaves an error
// without any as it is.
func redactError(err error, key string) error {
	if err == nil {
		return nil
	}
	if text := redactKey(err.Error(), key); text != err.Error() {
		return &cleanError{text: text, err: opaque(err)}
	}
	return err
}

var knownCauses = []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF}

// opaque drops what a chain could print again, and keeps what callers test for.
func opaque(err error) error {
	for _, known := range knownCauses {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}
