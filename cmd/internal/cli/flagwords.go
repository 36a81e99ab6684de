package cli

import (
	"errors"
	"strconv"
	"strings"
)

// flagError says in plain words why a flag's value is not taken: the libraries name the
// function that failed.
func flagError(err error) error {
	var n *strconv.NumError
	if !errors.As(err, &n) {
		return &usageError{err}
	}
	want := "want a whole number"
	switch {
	case n.Func == "ParseBool":
		want = "want true or false"
	case n.Func == "ParseFloat":
		want = "want a number"
	case errors.Is(n, strconv.ErrRange):
		want = "the number is too large, or too small"
	case n.Func == "ParseUint":
		want = "want a whole number, 0 or more"
	}
	head, _, _ := strings.Cut(err.Error(), ": strconv.")
	return &usageError{errors.New(head + ": " + want)}
}
