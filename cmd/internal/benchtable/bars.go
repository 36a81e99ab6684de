package main

import (
	"fmt"
	"slices"
)

// Groups of bars, in the order in which the project was promised them.
const (
	limits  = "limits"
	errs    = "errors"
	rows    = "rows"
	fleet   = "fleet"
	people  = "people"
	gate    = "gateway"
	million = "a million rows"
	pages   = "pages"
	nights  = "simulated nights"
	scale   = "scale"
)

// Words in the titles of tables.
const (
	backlog = "100 permits/s"
	speed   = "a call through the gateway"
)

// bars are all that were ever promised. One without a bound is beside one that has it.
var bars = slices.Concat([]bar{
	{limits, "largest sum admitted in any 60 s, in parts of the limit", "window", cell("Largest sum", "nightshift", "any window"), atMost(1)},
	{limits, "… redis_rate in its usual set-up", "window", cell("Largest sum", "redis_rate", "any window"), want{}},
	{limits, "five cases of settling are right, and peers get some wrong", "settle", passes("Settlements"), atLeast(1)},
	{limits, "16 callers of a hot key: failed calls", "callers", cell("Decisions a second", "nightshift, 3 dimensions in a lane", "failed calls"), atMost(0)},
	{limits, "… decisions a second", "callers", cell("Decisions a second", "nightshift, 3 dimensions in a lane", "decisions/s"), want{}},
	{limits, "… redis_rate on one dimension", "callers", cell("Decisions a second", "redis_rate", "decisions/s"), want{}},
}, peerBars(), []bar{
	{errs, "judging a body of 5 kB ÷ encoding/json's time to unmarshal it", "classify", metric("Classify", "of-unmarshal"), atMost(3)},
	{errs, "judging 10 MB ÷ 1 MB", "growth", metric("ClassifyGrowth", "x-of-1MB"), want{}},
	{errs, "saved error bodies judged right, beside the naive rule", "errors", passes("BesideTheNaiveRule"), atLeast(1)},
	{errs, "calls that go out after the month's cap is hit", "errors", passes("ExhaustedProject"), atLeast(1)},
	{errs, "a million additions of money are exact", "errors", passes("MillionAdditions"), atLeast(1)},
	{errs, "fifty workers spend nothing beyond a cap", "lending", passes("FiftyWorkersAtACap"), atLeast(1)},

	{rows, "100,000 rows of 1 kB enqueued ÷ asynq's Enqueue one by one", "enqueue", metric("Enqueue", "ratio"), atLeast(2)},
	{rows, "… while 100,000 good rows of another run are searched", "enqueue", metric("Enqueue", "ratio-looked-up"), want{}},
	{rows, "rows read and rendered ÷ a bare encoding/json read", "prepare", metric("Prepare", "ratio"), want{}},
	{rows, "Redis, a waiting row beyond 1.2 × its bytes (ledger and task)", "memory", metric("Memory", "B/row-over-1.2x"), want{}},
	{rows, "results of 1.2 kB in Redis as they come, bytes a row", "fold", metric("Fold", "loose-B/row"), want{}},
	{rows, "… folded", "fold", metric("Fold", "folded-B/row"), want{}},

	{fleet, "CPU per job, ours and Redis's ÷ an asynq handler that does nothing", "cpu", metric("CPUPerJob", "times-bare"), atMost(3.5)},
	{fleet, "bulk alone, 1,200 requests a minute: share of the limit", "alone", metric("BulkAlone/requests", "used"), atLeast(0.96)},
	{fleet, "… 429s of the provider", "alone", metric("BulkAlone/requests", "429s"), atMost(0)},
	{fleet, "the same bound by tokens: share of the limit", "alone", metric("BulkAlone/tokens", "used"), atLeast(0.96)},
	{fleet, "… 429s of the provider", "alone", metric("BulkAlone/tokens", "429s"), atMost(0)},
	{fleet, "… reschedules a row, the sweep included", "alone", cell("bulk alone", "reschedules a row", "measured"), atMost(1.3)},
	{fleet, "50,000 rows waiting: first looks a second", "backlog", cell(backlog, "first looks a second", "measured"), atLeast(2000)},
	{fleet, "… Redis after the sweep, % of a core", "backlog", cell(backlog, "Redis after the sweep", "measured"), atMost(10)},
	{fleet, "… 100 rows right behind them: first result, s", "backlog", cell(backlog, "100 rows right behind them", "measured"), atMost(30)},
	{fleet, "… 100 rows behind those that were seen: first result, s", "backlog", cell(backlog, "a run of 100 rows behind", "measured"), atMost(30)},
	{fleet, "… reschedules a job", "backlog", cell(backlog, "reschedules a job, the sweep", "measured"), atMost(1.3)},
	{fleet, "… share of a high-priority run after 30 s", "backlog", cell(backlog, "share of high", "measured").number(6), atLeast(0.5)},

	{people, "a morning with bulk: refused at the first try, %", "morning", cell("a morning of", "with bulk, behind the gate", "measured").number(2), atMost(0.03)},
	{people, "… 429s of the provider", "morning", cell("a morning of", "with bulk, behind the gate", "measured").number(4), atMost(0)},
	{people, "… p95 ÷ the same morning without bulk", "morning", cell("a morning of", "p95 with bulk", "measured"), atMost(1.1)},
	{people, "… without the gate, refused at the first try, %", "morning", cell("a morning of", "with bulk, no gate", "measured").number(2), want{}},
	{people, "100 people within a second: refused, %", "spike", cell("people within a second", "100 people", "measured").number(2), atMost(1)},
	{people, "p99 beside bulk ÷ alone", "beside", metric("PeopleBesideBulk", "times-p99-alone"), atMost(1.3)},
	{people, "… without the gate", "beside", cell("people beside bulk", "… without the gate", "measured"), want{}},

	{gate, "CPU of a unary call ÷ a bare ReverseProxy", "speed", metric("GatewaySpeed/CPU", "times-bare-cpu"), atMost(3)},
	{gate, "… @portkey-ai/gateway, where it is installed", "speed", cell(speed, "… @portkey-ai/gateway", "measured"), want{}},
	{gate, "CPU of a stream of fifty chunks ÷ a bare ReverseProxy", "speed", metric("GatewaySpeed/StreamCPU", "times-bare-cpu"), want{}},
	{gate, "added to the p50 of an answer of 200 ms, %", "speed", metric("GatewaySpeed/Answer", "added-p50-%"), atMost(2)},
	{gate, "added to a stream's first chunk, %", "speed", metric("GatewaySpeed/FirstChunk", "added-first-%"), atMost(2)},
	{gate, "most memory with 1,000 open streams, MB", "speed", metric("GatewaySpeed/Streams", "MB-streams"), atMost(200)},

	{million, "plan ÷ a bare encoding/json read", "plan", metric("Plan", "of-bare-json"), atLeast(0.4)},
	{million, "… most memory, MB", "plan", metric("Plan", "peak-MB"), atMost(300)},
	{million, "Redis, a waiting row beyond 1.2 × its bytes (ticket included)", "waiting", metric("Waiting", "B/row-over-1.2x"), atMost(900)},
	{million, "export as results come ÷ a bare copy and parse", "export", metric("Export", "loose-of-bare"), atLeast(0.4)},
	{million, "… folded", "export", metric("Export", "folded-of-bare"), atLeast(0.4)},
	{million, "… of drained files", "export", metric("Export", "drained-of-bare"), atLeast(0.4)},
}, waiting(), []bar{
	{pages, "history of 100 lanes and 1,000 tenants, seven days, MB of Redis", "history", metric("HistoryMemory", "MB/7d"), atMost(200)},
	{pages, "use of 1,000 tenants for 100 days, MB of Redis", "use", metric("TenantUseMemory", "MB/1000-tenants"), want{}},
	{pages, "four charts with 100 lanes and 1,000 tenants ÷ ten of each", "charts", metric("HistoryPage/lanes=100", "×small"), atMost(2)},
	{pages, "Now anew, 100 lanes and 1,000 tenants ÷ ten of each", "now", metric("DashboardNow/100-lanes-1000-tenants/anew-true", "×small"), atMost(2)},
	{pages, "… within the same moment", "now", metric("DashboardNow/100-lanes-1000-tenants/anew-false", "×small"), atMost(2)},
	{pages, "`/tenants` of 1,000 tenants ÷ of ten", "tenants", metric("TenantPages/1000-tenants/tenants", "×small"), atMost(2)},
	{pages, "one tenant's page among 1,000 ÷ among ten", "tenants", metric("TenantPages/1000-tenants/tenants/t003", "×small"), atMost(2)},
	{pages, "round trips of one look of the alerts, 100 lanes and 1,000 tenants", "alerts", metric("AlertLook/lanes=100/tenants=1000", "round-trips/look"), want{}},
}, visited(), []bar{
	{scale, "Redis, µs a row: one worker process", "scale", metric("Scale", "redis-µs/row"), want{}},
	{scale, "… eight ÷ one", "scale", metric("Scale", "redis-8-workers÷1"), want{}},
	{scale, "… rows a second of eight", "scale", metric("Scale", "rows/s-of-8"), want{}},
	{scale, "Redis, µs a call: one gateway", "scale", metric("Scale", "redis-µs/call"), want{}},
	{scale, "… four ÷ one", "scale", metric("Scale", "redis-4-gateways÷1"), want{}},
	{scale, "Redis, µs a second for a worker that has nothing to do", "scale", metric("Scale", "redis-µs/s-idle-worker"), want{}},
	{nights, "a morning peak: failures and p95, first night and learned", "nights", passes("MorningPeak"), atLeast(1)},
	{nights, "a quiet night beside a fixed split", "nights", passes("Night"), atLeast(1)},
	{nights, "long documents: no 429 behind ours", "nights", passes("LongDocuments"), atLeast(1)},
	{nights, "calls wasted after the month's cap", "nights", passes("SpendCap"), atLeast(1)},
	{nights, "1 to 10 workers stay within one limit", "nights", passes("Fleet"), atLeast(1)},
	{nights, "lending at night beside fixed splits", "lending", passes("LendingAtNight"), atLeast(1)},
})

// peerBars are those of the limiter beside its peers.
func peerBars() (out []bar) {
	for _, c := range []struct {
		who   string
		bound float64
	}{
		{"3 dimensions in a lane, 16 processes", 2.5}, {"3 dimensions in a lane, 16 callers in one", 2.5}, {"3 dimensions in a lane, 64 callers in one", 2.5},
		{"5 dimensions × 3 levels, 5 classes, 16 processes", 6}, {"5 dimensions × 3 levels, 5 classes, 16 callers in one", 6}, {"5 dimensions × 3 levels, 5 classes, 64 callers in one", 6},
	} {
		out = append(out, bar{limits, "Redis's time for a decision ÷ redis_rate on one: " + c.who, "cost", cell("Redis's time per decision", c.who, "÷ redis_rate"), atMost(c.bound)})
	}
	for _, what := range []string{"0 → 50,000 tickets: a person's call", "0 → 50,000 tickets: one more job takes its place", "1 → 1,000 tenants seen", "24 hours"} {
		out = append(out, bar{limits, "growth of a decision's cost: " + what, "flat", cell("Cost per decision where", what, "growth"), atMost(1.2)})
	}
	for _, m := range []struct {
		what  string
		bound float64
	}{{"lane, 12 limits", 64 << 10}, {"ticket", 150}, {"tenant node, 3 limits", 8 << 10}} {
		out = append(out, bar{limits, "Redis's memory after a day, bytes: " + m.what, "bytes", cell("Redis memory after a day", m.what, "bytes"), atMost(m.bound)})
	}
	return out
}

// waiting are the questions about a run of a million rows that wait.
func waiting() (out []bar) {
	for _, q := range []string{"status", "status-night", "why-night", "why-row-0", "why-row-500", "why-row-last"} {
		out = append(out, bar{million, "`" + q + "` of a million waiting rows ÷ of 1,000", "waiting", metric("Waiting", q+"-times-1000"), atMost(2)})
	}
	return out
}

// visited are the dashboard's pages.
func visited() (out []bar) {
	for _, p := range []string{"/", "/history", "/history-from-48h", "/runs", "/runs/night", "/who", "/who-from-24h", "/tenants", "/tenants/t0003"} {
		out = append(out, bar{pages, fmt.Sprintf("`%s`, 100 lanes, 1,000 tenants, a million rows ÷ ten of each", p), "pages", metric("Pages", p+"-×small"), atMost(2)})
	}
	return out
}
