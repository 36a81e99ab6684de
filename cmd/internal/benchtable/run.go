package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func parseNumber(text string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
}

// runner runs sources, one after the other and each once.
type runner struct {
	root       string
	quick      bool
	keep, from string // directories; "" is none
	progress   io.Writer
}

// result is a bar with what was measured of it.
type result struct {
	bar
	value float64
	err   error // why there is no value
}

// measure gives all bars in their order. A source that fails costs its own bars only;
// the error is of what makes all of it useless.
func (r runner) measure(ctx context.Context, list []bar) (out []result, err error) {
	if r.keep != "" {
		if err := os.MkdirAll(r.keep, 0o755); err != nil { //nolint:gosec // outputs of benchmarks, for everybody
			return nil, err
		}
	}
	outputs, failed := map[string]output{}, map[string]error{}
	for _, b := range list {
		if _, done := outputs[b.source]; !done {
			outputs[b.source], failed[b.source] = r.output(ctx, b.source)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x := result{bar: b}
		if x.value, x.err = outputs[b.source].find(b.at); x.err != nil && failed[b.source] != nil {
			x.err = failed[b.source]
		}
		out = append(out, x)
	}
	return out, nil
}

// output has what was printed even where the command failed.
func (r runner) output(ctx context.Context, name string) (output, error) {
	text, failed := r.text(ctx, name)
	o, err := readOutput(text)
	if failed == nil {
		failed = err
	}
	return o, failed
}

func (r runner) text(ctx context.Context, name string) (string, error) {
	s, ok := sources[name]
	if !ok {
		return "", fmt.Errorf("no source is named %q", name)
	}
	if r.from != "" {
		b, err := os.ReadFile(filepath.Join(r.from, name+".txt"))
		return string(b), err
	}
	fmt.Fprintf(r.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), s.command(r.quick))
	var printed bytes.Buffer
	args, env := s.line(r.quick)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // from our own table
	cmd.Dir, cmd.Env = filepath.Join(r.root, s.dir), append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLine(printed.String()))
	}
	if r.keep != "" {
		if err := os.WriteFile(filepath.Join(r.keep, name+".txt"), printed.Bytes(), 0o644); err != nil { //nolint:gosec // as the directory
			return printed.String(), err
		}
	}
	return printed.String(), err
}

// lastLine is the last that says something of why a command failed.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "FAIL" && !strings.HasPrefix(line, "exit status") {
			last = line
		}
	}
	return last
}
