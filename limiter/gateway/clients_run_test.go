package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// cannot fails under CI, where everything has to run, and skips elsewhere.
func cannot(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func absent(command string) string {
	if _, err := exec.LookPath(command); err != nil {
		return command + " is not installed"
	}
	return ""
}

// leastNode is what package.json says too.
const leastNode = 20

var nodeDir = filepath.Join("testdata", "clients", "node")

func nodeMissing() string {
	if why := absent("node"); why != "" {
		return why
	}
	version, err := exec.Command("node", "--version").Output()
	var major int
	if _, scan := fmt.Sscanf(string(version), "v%d.", &major); err != nil || scan != nil || major < leastNode {
		return fmt.Sprintf("node is %q: @google/genai needs %d or newer", version, leastNode)
	}
	if _, err := os.Stat(filepath.Join(nodeDir, "node_modules", "@google", "genai")); err != nil {
		return "@google/genai is not installed: npm ci --prefix limiter/gateway/testdata/clients/node"
	}
	return ""
}

func pythonMissing() string { return absent("python3") }

func runNode(ctx context.Context, p plan, emit func(line)) error {
	return runProgram(ctx, p, emit, "node", filepath.Join(nodeDir, "client.mjs"))
}

func runPython(ctx context.Context, p plan, emit func(line)) error {
	return runProgram(ctx, p, emit, "python3", "-B", filepath.Join("testdata", "clients", "python", "client.py"))
}

// runProgram runs a client that prints its lines, and waits behind that of the
// abort until its standard input ends. It gets nothing of our
// environment but the PATH: an SDK would take a key or a base URL from there.
func runProgram(ctx context.Context, p plan, emit func(line), command string, args ...string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CLIENT_PLAN=" + string(b), "NODE_EXTRA_CA_CERTS=" + p.CA}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := readLines(bufio.NewReader(out), func(l line) {
		emit(l)
		if l.Task == "abort" {
			_ = in.Close() // it waits for this
		}
	})
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, &stderr)
	}
	return read
}

func readLines(r *bufio.Reader, emit func(line)) error {
	d := json.NewDecoder(r)
	for d.More() {
		var l line
		if err := d.Decode(&l); err != nil {
			return err
		}
		emit(l)
	}
	return nil
}
