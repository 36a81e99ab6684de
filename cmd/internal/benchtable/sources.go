package main

import "time"

// bench is a Go benchmark's command that does it once.
func bench(dir, name string, more ...string) []string {
	return append([]string{"go", "test", dir, "-run", "^$", "-bench", name, "-benchtime", "1x", "-timeout", "60m"}, more...)
}

// tests is the command of tests that hold their bounds themselves.
func tests(dir, names string) []string {
	return []string{"go", "test", dir, "-count", "1", "-run", names, "-v"}
}

func peers(part string) source {
	return source{
		dir: "limiter/peers", args: []string{"go", "run", ".", "-only", part},
		quick: change{args: []string{"-rounds", "3", "-calls", "300"}}, takes: 2 * time.Minute,
	}
}

// sources are all commands, by the names that bars have for them.
var sources = map[string]source{
	"enqueue":  {args: bench("./jobs", "^BenchmarkEnqueue$"), takes: 2 * time.Minute},
	"prepare":  {args: bench("./jobs", "^BenchmarkPrepare$"), takes: time.Minute},
	"memory":   {args: bench("./jobs", "^BenchmarkMemory$"), takes: time.Minute},
	"export":   {args: bench("./jobs", "^BenchmarkExport$"), env: []string{"EXPORT_ROWS=1000000"}, quick: change{env: []string{"EXPORT_ROWS=20000"}}, takes: 10 * time.Minute},
	"fold":     {args: bench("./jobs", "^BenchmarkFold$"), takes: time.Minute},
	"plan":     {args: bench("./cmd/internal/cli", "^BenchmarkPlan$"), env: []string{"PLAN_ROWS=1000000"}, quick: change{env: []string{"PLAN_ROWS=20000"}}, takes: 3 * time.Minute},
	"waiting":  {args: bench("./cmd/internal/cli", "^BenchmarkWaiting$"), env: []string{"WAIT_ROWS=1000000"}, quick: change{env: []string{"WAIT_ROWS=5000"}}, takes: 15 * time.Minute},
	"cpu":      {args: bench("./worker", "^BenchmarkCPUPerJob$", "-benchtime", "9x"), quick: change{args: []string{"-benchtime", "1x"}}, takes: 3 * time.Minute},
	"alone":    {args: bench("./cmd/nightshift", "^BenchmarkBulkAlone$"), quick: change{args: []string{"-steady", "1m"}}, takes: 13 * time.Minute},
	"backlog":  {args: bench("./cmd/nightshift", "^BenchmarkBacklog$"), quick: change{args: []string{"-rows", "5000"}}, takes: 6 * time.Minute},
	"morning":  {args: bench("./cmd/nightshift", "^BenchmarkMorning$", "-morning", "150s"), quick: change{args: []string{"-morning", "20s"}}, takes: 14 * time.Minute},
	"spike":    {args: bench("./cmd/nightshift", "^BenchmarkSpike$"), takes: 4 * time.Minute},
	"beside":   {args: bench("./cmd/nightshift", "^BenchmarkPeopleBesideBulk$"), quick: change{args: []string{"-beside", "20s"}}, takes: 8 * time.Minute},
	"speed":    {args: bench("./cmd/nightshift", "^BenchmarkGatewaySpeed$"), quick: change{args: []string{"-speed-rounds", "1", "-speed-calls", "500", "-speed-streams", "100"}}, takes: 8 * time.Minute},
	"scale":    {args: bench("./cmd/nightshift", "^BenchmarkScale$"), quick: change{args: []string{"-scale-for", "3s"}}, takes: 4 * time.Minute},
	"classify": {args: bench("./limiter/gemini", "^BenchmarkClassify$", "-benchtime", "1s"), takes: time.Minute},
	"growth":   {args: bench("./limiter/gemini", "^BenchmarkClassifyGrowth$"), takes: time.Minute},
	"use":      {args: bench("./limiter/gemini", "^BenchmarkTenantUseMemory$"), takes: time.Minute},
	"history":  {args: bench("./limiter/gemini", "^BenchmarkHistoryMemory$"), takes: 3 * time.Minute},
	"charts":   {args: bench("./limiter/gemini", "^BenchmarkHistoryPage$"), takes: 3 * time.Minute},
	"alerts":   {args: bench("./scheduler", "^BenchmarkAlertLook$", "-benchtime", "10x"), takes: time.Minute},
	"pages":    {args: bench("./cmd/internal/cli", "^BenchmarkPages$"), env: []string{"PAGE_ROWS=1000000"}, quick: change{env: []string{"PAGE_ROWS=2000"}}, takes: 20 * time.Minute},
	"now":      {args: bench("./cmd/internal/cli", "^BenchmarkDashboardNow$", "-benchtime", "20x"), takes: time.Minute},
	"tenants":  {args: bench("./cmd/internal/cli", "^BenchmarkTenantPages$", "-benchtime", "20x"), takes: time.Minute},

	"window":  peers("window"),
	"settle":  {dir: "limiter/peers", args: tests(".", "^TestSettlements$"), takes: time.Minute},
	"cost":    peers("cost"),
	"callers": peers("callers"),
	"flat":    peers("flat"),
	"bytes":   peers("memory"),

	"nights":  {args: tests("./scheduler/sim", "^(TestMorningPeak|TestNight|TestLongDocuments|TestSpendCap|TestFleet)$"), takes: 2 * time.Minute},
	"lending": {args: tests("./limiter", "^(TestLendingAtNight|TestFiftyWorkersAtACap)$"), takes: time.Minute},
	"errors":  {args: tests("./limiter/gemini", "^(TestBesideTheNaiveRule|TestExhaustedProject|TestMillionAdditions)$"), takes: time.Minute},
}
