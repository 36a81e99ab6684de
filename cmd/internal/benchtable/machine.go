package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// machine is where and with what was measured.
type machine struct {
	root          string
	cpu           string
	cores         int
	began         time.Time
	before, after string // load averages; "" where the system has no /proc
	took          time.Duration
	redis, commit string
	modules       []string // name and version of what is measured beside ours, or carries it
}

// besides are the modules whose versions a figure hangs on, by the directory whose
// go.mod has them.
var besides = map[string][]string{
	"":              {"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "google.golang.org/genai"},
	"limiter/peers": {"github.com/go-redis/redis_rate/v10", "github.com/throttled/throttled/v2", "github.com/gubernator-io/gubernator/v2", "golang.org/x/time"},
}

func machineNow(ctx context.Context) (machine, error) {
	m := machine{cores: runtime.NumCPU(), began: time.Now(), cpu: cpuModel(), before: load()}
	mod, err := said(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return m, err
	}
	if m.root = filepath.Dir(mod); !strings.HasPrefix(mod, "/") || mod == os.DevNull {
		return m, fmt.Errorf("run it in the module's directory")
	}
	m.redis = cmp.Or(redisVersion(ctx), "none")
	m.commit = commit(ctx, m.root)
	for _, dir := range []string{"", "limiter/peers"} {
		for _, mod := range besides[dir] {
			if v, err := said(ctx, filepath.Join(m.root, dir), "go", "list", "-m", mod); err == nil {
				m.modules = append(m.modules, v)
			}
		}
	}
	return m, nil
}

func (m *machine) ended(took time.Duration) { m.took, m.after = took, load() }

// said is what a command prints, without the white space around it.
func said(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // words of ours
	cmd.Dir = dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(b)
	if m == nil {
		return runtime.GOARCH
	}
	return string(m[1])
}

func load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

func redisVersion(ctx context.Context) string {
	text, _ := said(ctx, "", "redis-server", "--version")
	m := regexp.MustCompile(`v=(\S+)`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// commit is the short hash, and whether something has been changed since.
func commit(ctx context.Context, root string) string {
	hash, err := said(ctx, root, "git", "rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := said(ctx, root, "git", "status", "--porcelain"); err == nil && changed != "" {
		hash += ", changed since"
	}
	return hash
}
