package jobs

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
)

// rational reads a number exactly: a JSON number of the row or a constant of
// the template. Huge exponents are no numbers here: they would not fit memory.
func rational(v any) (*big.Rat, bool) {
	switch n := v.(type) {
	case Number:
		if _, exp, ok := strings.Cut(strings.ToLower(string(n)), "e"); ok && len(strings.TrimLeft(exp, "+-0")) > 3 {
			return nil, false
		}
		return new(big.Rat).SetString(string(n))
	case zero:
		return new(big.Rat), true
	}
	rv := reflect.ValueOf(v)
	switch {
	case !rv.IsValid():
		return nil, false
	case rv.CanInt():
		return new(big.Rat).SetInt64(rv.Int()), true
	case rv.CanUint():
		return new(big.Rat).SetUint64(rv.Uint()), true
	case rv.CanFloat():
		r := new(big.Rat).SetFloat64(rv.Float())
		return r, r != nil
	}
	return nil, false
}

// numbers reads both as numbers if at least one is: the other may be a text
// that is written as one, as all cells of a CSV file are.
func numbers(a, b any) (x, y *big.Rat, ok bool) {
	x, xok := rational(a)
	y, yok := rational(b)
	if xok && !yok {
		y, yok = rational(Number(asText(b)))
	}
	if yok && !xok {
		x, xok = rational(Number(asText(a)))
	}
	return x, y, xok && yok
}

func asText(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}

func same(a, b any) bool {
	if x, y, ok := numbers(a, b); ok {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}

// equal is true when a equals any of the others.
func equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("eq wants two values or more")
	}
	for _, b := range others {
		if same(a, b) {
			return true, nil
		}
	}
	return false, nil
}

// compare orders two numbers or two strings.
func compare(a, b any) (int, error) {
	if x, y, ok := numbers(a, b); ok {
		return x.Cmp(y), nil
	}
	s, sok := a.(string)
	t, tok := b.(string)
	if sok && tok {
		return strings.Compare(s, t), nil
	}
	return 0, fmt.Errorf("%s and %s cannot be compared", kindOf(a), kindOf(b))
}
