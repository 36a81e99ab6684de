package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// again looks once and then once in each interval, until the context ends. A
// terminal is painted over in place; elsewhere the looks follow one another. Only
// the first look's error ends it: who watches a fleet wants to see it come back.
func (f *factory) again(ctx context.Context, every time.Duration, look func() error) error {
	if every < 100*time.Millisecond {
		return usageErrorf("--every %s: want at least 100ms", every)
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for first := true; ; first = false {
		err := f.paint(first, look)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			f.say("%s: %v", f.now().Local().Format("15:04:05 MST"), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// paint gathers one look and puts it on the screen at once, so that nobody sees it
// half drawn.
func (f *factory) paint(first bool, look func() error) error {
	out := f.Out
	if !terminal(out) {
		return look()
	}
	var b bytes.Buffer
	f.Out, f.behind = &b, out
	err := look()
	f.Out, f.behind = out, nil
	if err != nil {
		return err
	}
	if first {
		fmt.Fprint(out, "\x1b[2J")
	}
	width, height := screenSize(out)
	fmt.Fprint(out, repainted(b.String(), width, height))
	return nil
}

// screen is where what is printed goes in the end.
func (f *factory) screen() io.Writer {
	if f.behind != nil {
		return f.behind
	}
	return f.Out
}

func screenSize(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil {
			return width, height
		}
	}
	return 100, 40
}

// repainted is a text that covers what was on the screen before: from the first
// line on, each cleared to its end, cut where the screen ends.
func repainted(s string, width, height int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if more := len(lines) - height + 1; more > 1 && height > 2 {
		lines = append(lines[:height-2], fmt.Sprintf("… %d more lines", more+1))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, l := range lines {
		b.WriteString(text.Snip(l, width, "…") + "\x1b[K\n")
	}
	return b.String() + "\x1b[J"
}
