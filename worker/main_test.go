package worker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// The test binary is also a worker process, for tests that kill one: it is when
// these name a Redis and a Gemini.
const (
	envRedis  = "NIGHTSHIFT_TEST_WORKER_REDIS"
	envGemini = "NIGHTSHIFT_TEST_WORKER_GEMINI"
	envCalls  = "NIGHTSHIFT_TEST_WORKER_CALLS"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	if os.Getenv(envRedis) == "" {
		os.Exit(m.Run())
	}
	if err := workerMain(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// silent drops the client library's lines about failed dials.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// workerMain is a worker process until SIGTERM.
func workerMain() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	calls, err := strconv.Atoi(os.Getenv(envCalls))
	if err != nil {
		return err
	}
	rdb, err := PatientClient(os.Getenv(envRedis), 2*calls)
	if err != nil {
		return err
	}
	gate := limiter.NewRedis(rdb, testScope, limiter.RedisOptions{})
	tr, err := gemini.NewTransport(gemini.TransportConfig{BaseURL: os.Getenv(envGemini), APIKey: "test-key", Gate: gate, Lanes: testLanes()})
	if err != nil {
		return err
	}
	client, err := gemini.NewClient(ctx, tr, "")
	if err != nil {
		return err
	}
	w, err := New(Config{Redis: rdb, Store: jobs.NewStore(rdb, jobs.StoreOptions{}), Gate: gate, Client: client, Concurrency: calls,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

var testScope = limiter.Scope{Provider: "gemini", Project: "test"}

func testLanes() *gemini.LaneMap {
	lanes, err := gemini.NewLaneMap("test", "", gemini.Model{Name: testModel}, gemini.Model{Name: "gemini-embedding-2"})
	if err != nil {
		panic(err)
	}
	return lanes
}

// process starts a worker process; the test ends it.
func process(t testing.TB, redisURL, geminiURL string, calls int) *os.Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envRedis+"="+redisURL, envGemini+"="+geminiURL, envCalls+"="+strconv.Itoa(calls))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}
