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
