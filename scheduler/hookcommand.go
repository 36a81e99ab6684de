package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// HookCommand runs a hook's command by sh -c, with the report in a file. Env is what the
// command sees beside what tells of the event.
type HookCommand struct {
	Env []string  // "NAME=value"; whoever wires leaves secrets out
	Out io.Writer // what commands write goes there at once, where somebody looks on; nil is nowhere
}

// run makes one attempt. The output is the last of what the command wrote.
func (c HookCommand) run(ctx context.Context, h Hook, d Delivery, r RunReport) (output string, err error) {
	dir, err := os.MkdirTemp("", "nightshift-hook-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the system's folder for such
	report := filepath.Join(dir, "report.md")
	if err := os.WriteFile(report, []byte(r.Markdown), 0o600); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", h.Command)
	cmd.WaitDelay = 5 * time.Second // what it started may hold its output open
	cmd.Env = append(append([]string{}, c.Env...), "NIGHTSHIFT_RUN="+d.Event.Run, "NIGHTSHIFT_RUN_NAME="+r.Title, "NIGHTSHIFT_EVENT="+d.Event.Kind,
		"NIGHTSHIFT_TEXT="+d.Event.sentence(r.Title), "NIGHTSHIFT_REPORT="+report, "NIGHTSHIFT_DELIVERY="+d.ID)
	var out bytes.Buffer
	cmd.Stdout = &out
	if c.Out != nil {
		cmd.Stdout = io.MultiWriter(&out, c.Out)
	}
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	output = tail(out.String(), 2000)
	if ctx.Err() == context.DeadlineExceeded {
		return output, &attemptError{why: fmt.Sprintf("the command has not ended after %s", h.timeout())}
	}
	if err != nil {
		return output, &attemptError{why: "the command: " + err.Error()}
	}
	return output, nil
}

// tail is the end of a text, from a whole line on where that is possible.
func tail(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return strings.ToValidUTF8(s, "")
}
