package tenants

import (
	"errors"
	"fmt"
	"strings"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// What keeps something from being done.
var (
	// ErrNotThere is a tenant, team, key or token that there is not. It says the same
	// of what may not be seen.
	ErrNotThere = errors.New("there is no such thing")
	// ErrChanged says that somebody else changed it since it was read.
	ErrChanged = errors.New("somebody has changed it since it was read: read it again, and change that")
	// ErrUnread says that a change of what is there does not say what it was read as.
	ErrUnread = errors.New("it is there already: a change has to say which state of it was read")
)

// FieldError is a field of what was given that cannot be.
type FieldError struct {
	Field string // "limits.rpm"
	Why   string
}

// Error is field and reason.
func (e *FieldError) Error() string { return e.Field + ": " + e.Why }

func wrong(field, format string, a ...any) error {
	return &FieldError{field, fmt.Sprintf(format, a...)}
}

// ConflictError is something that does not go with what is there.
type ConflictError struct{ Why string }

// Error says with what.
func (e *ConflictError) Error() string { return e.Why }

func conflict(format string, a ...any) error { return &ConflictError{fmt.Sprintf(format, a...)} }

// keyFields are the fields of an identity by their names here.
var keyFields = strings.NewReplacer("path.team", "team", "path.tenant", "tenant")

// ofKeys makes what the gateway says of a key an error of this package.
func ofKeys(err error) error {
	var field *gateway.IdentityError
	var gone *gateway.RevokedError
	switch {
	case errors.As(err, &field):
		return &FieldError{keyFields.Replace(field.Field), field.Why}
	case errors.As(err, &gone):
		return conflict("the key was revoked and stays so: make another")
	case errors.Is(err, gateway.ErrExpired):
		return conflict("the key has expired: rotate it with another end (expires)")
	case errors.Is(err, gateway.ErrUnknownKey):
		return ErrNotThere
	}
	return err
}

// ofLimiter makes what the limiter says of a value an error of this package.
func ofLimiter(err error) error {
	var wrong *limiter.ConfigError
	if !errors.As(err, &wrong) {
		return err
	}
	field := wrong.Field
	if at := strings.LastIndexByte(field, ' '); at >= 0 {
		if name, ok := apiName(field[at+1:]); ok {
			return &FieldError{"limits." + name, wrong.Problem}
		}
	}
	if strings.HasPrefix(field, limiter.NodeWeights) {
		return &FieldError{"weight", wrong.Problem}
	}
	return &FieldError{"limits", field + ": " + wrong.Problem}
}

// orNil passes an error over that is none here.
func orNil(err, none error) error {
	if errors.Is(err, none) {
		return nil
	}
	return err
}
