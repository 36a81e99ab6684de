package tenants

import (
	"errors"
	"fmt"
	"slices"
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
	in    place
}

// place is where a field of a request stands; the zero value is the body.
type place string

const (
	inQuery  place = "parameter"
	inHeader place = "header"
)

// Error is field and reason.
func (e *FieldError) Error() string { return e.Field + ": " + e.Why }

func wrong(field, format string, a ...any) error {
	return &FieldError{Field: field, Why: fmt.Sprintf(format, a...)}
}

// FieldErrors are all that are wrong with what was given, where it is more than one.
type FieldErrors []*FieldError

// Error is one after the other.
func (e FieldErrors) Error() string {
	var out []string
	for _, f := range e {
		out = append(out, f.Error())
	}
	return strings.Join(out, "; ")
}

// Unwrap gives each.
func (e FieldErrors) Unwrap() (out []error) {
	for _, f := range e {
		out = append(out, f)
	}
	return out
}

// faults are the fields that are wrong by an error, each once.
func faults(err error) (out []*FieldError) {
	var one *FieldError
	if list, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // each of the joined is looked into
		for _, e := range list.Unwrap() {
			for _, f := range faults(e) {
				if !slices.ContainsFunc(out, func(o *FieldError) bool { return o.Field == f.Field }) {
					out = append(out, f)
				}
			}
		}
		return out
	}
	if next := errors.Unwrap(err); next != nil {
		return faults(next)
	}
	if errors.As(err, &one) {
		out = append(out, one)
	}
	return out
}

// wrongIf gives all the wrong fields of errors as one error; an error that is of no
// field comes before.
func wrongIf(errs ...error) error {
	for _, err := range errs {
		if err != nil && len(faults(err)) == 0 {
			return err
		}
	}
	switch all := faults(errors.Join(errs...)); len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return FieldErrors(all)
	}
}

// at says that the wrong fields of an error stand elsewhere than in the body.
func at(in place, err error) error {
	for _, f := range faults(err) {
		f.in = in
	}
	return err
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
		return &FieldError{Field: keyFields.Replace(field.Field), Why: field.Why}
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
			return &FieldError{Field: "limits." + name, Why: wrong.Problem}
		}
	}
	if strings.HasPrefix(field, limiter.NodeWeights) {
		return &FieldError{Field: "weight", Why: wrong.Problem}
	}
	return &FieldError{Field: "limits", Why: field + ": " + wrong.Problem}
}

// orNil passes an error over that is none here.
func orNil(err, none error) error {
	if errors.Is(err, none) {
		return nil
	}
	return err
}
