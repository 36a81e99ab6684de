package cli

import (
	"bytes"
	"testing"
)

func TestTableKeepsColumnsWithFullWidthText(t *testing.T) {
	t.Parallel()
	tb := newTable("ROW", "ROWS", "MESSAGE").numeric(1)
	tb.row("土鍋", 1, "made in 三重")
	tb.row("kettle", 20, "steel")
	var b bytes.Buffer
	tb.render(&b)
	// 土鍋 is four columns wide on a terminal, as wide as "kett".
	want := "ROW     ROWS  MESSAGE\n" +
		"土鍋       1  made in 三重\n" +
		"kettle    20  steel\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPlainTableIsOneLineARow(t *testing.T) {
	t.Parallel()
	tb := newTable("A", "B")
	tb.row("x\ty", "two\nlines")
	var b bytes.Buffer
	tb.plain(&b)
	if want := "x y\ttwo lines\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestFold: as many columns as need be, and nothing is lost.
func TestFold(t *testing.T) {
	t.Parallel()
	wide := func() *dataTable {
		tb := newTable("NAME", "LIMITS", "STATE")
		tb.row("web", "rpm 300, $20.00/day", "adopted, ends 2027-01-31")
		tb.row("chat", "", "adopted")
		return tb
	}
	for most, want := range map[int]string{
		49: "NAME  LIMITS               STATE\nweb   rpm 300, $20.00/day  adopted, ends 2027-01-31\nchat                       adopted\n",
		40: "NAME  LIMITS               STATE\nweb   rpm 300, $20.00/day  adopted,\n                           ends 2027-01-31\nchat                       adopted\n",
		33: "NAME  LIMITS      STATE\nweb   rpm 300,    adopted,\n      $20.00/day  ends 2027-01-31\nchat              adopted\n",
	} {
		var b bytes.Buffer
		tb := wide()
		if tb.fold(most+2, "STATE", "LIMITS"); most < 49 && tb.width() > most+2 {
			t.Errorf("%d wide, want %d", tb.width(), most+2)
		}
		if tb.render(&b); b.String() != want {
			t.Errorf("%d: got\n%s\nwant\n%s", most, b.String(), want)
		}
	}
}
