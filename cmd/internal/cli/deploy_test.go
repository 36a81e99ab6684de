package cli

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"google.golang.org/genai"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
	"nightshift/worker"
)

const deployDir = "../../nightshift/deploy/"

// alertFile is as much of Prometheus's rule files as the tests look at.
type alertFile struct {
	Groups []struct {
		Rules []struct {
			Alert, Record, Expr, For string
			Labels, Annotations      map[string]string
		}
	}
}

// queries are the expressions of the dashboard and the rules, by where they stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	var dash struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(readDeploy(t, "grafana.json"), &dash); err != nil {
		t.Fatal(err)
	}
	for _, p := range dash.Panels {
		for _, q := range p.Targets {
			out[p.Title+": "+q.Expr] = strings.ReplaceAll(q.Expr, "$model", ".*")
		}
	}
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			out[r.Alert+r.Record] = r.Expr
		}
	}
	return out
}

func alerts(t *testing.T) (f alertFile) {
	t.Helper()
	if err := yaml.Unmarshal(readDeploy(t, "alerts.yaml"), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func readDeploy(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(deployDir + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// told are the labels of every metric that a fleet tells, by name: of a rig where
// everything happens that has a metric of its own.
func toldByFleet(t *testing.T) (map[string]map[string]bool, *prometheus.Registry) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	scope := limiter.Scope{Provider: "gemini", Project: "p"}
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}
	classes := []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true, Tickets: true}}
	lim := limiter.NewRedis(rdb, scope, limiter.RedisOptions{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(lim.Configure(t.Context(), limiter.Config{Scope: scope, Classes: classes,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 10, USDPerDay: 1_000_000}}}}))
	must(lim.Pause(t.Context(), limiter.Pause{Class: "bulk", Reason: "operator", Owner: "ada"}))
	_, err := lim.Trip(t.Context(), limiter.Trip{Lane: lane, Scope: limiter.BreakProject, Reason: limiter.ReasonCredentials, Key: "k"})
	must(err)
	must(gemini.NewRampStore(rdb, scope).Put(t.Context(), gemini.Ramp{Scope: gemini.RampScope{Kind: "feature", Name: "chat"}, From: "m", To: "n", Sticky: gemini.StickyCall, Over: time.Hour, Steps: []int64{1_000_000}, Phase: gemini.RampMoving}))
	reg := newRegistry("scheduler")
	control := &scheduler.Control{Redis: rdb, Limiter: lim, Scope: scope, Classes: classes, Store: jobs.NewStore(rdb, jobs.StoreOptions{})}
	reg.MustRegister(&scheduler.FleetCollector{Control: control, Leads: func() bool { return true }})
	w, err := worker.New(worker.Config{Redis: rdb, Store: control.Store, Gate: lim, Client: new(genai.Client)})
	must(err)
	reg.MustRegister(worker.NewCollector(w))
	everyCall(gemini.NewMetrics(reg))
	families, err := reg.Gather()
	must(err)
	out := map[string]map[string]bool{}
	for _, f := range families {
		labels := map[string]bool{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels[l.GetName()] = true
			}
		}
		out[f.GetName()] = labels
	}
	described(reg, out)
	return out, reg
}

// described adds what has not happened yet and is promised.
func described(reg *prometheus.Registry, to map[string]map[string]bool) {
	descs := make(chan *prometheus.Desc, 1000)
	reg.Describe(descs)
	close(descs)
	for d := range descs {
		m := descText.FindStringSubmatch(d.String())
		if m == nil || to[m[1]] != nil {
			continue
		}
		to[m[1]] = map[string]bool{}
		for l := range strings.SplitSeq(m[2], ",") {
			to[m[1]][l] = true
		}
	}
}

var descText = regexp.MustCompile(`fqName: "([^"]+)".* variableLabels: \{([^}]*)\}`)

// everyCall makes each metric of calls be there.
func everyCall(m *gemini.Metrics) {
	cost := int64(1)
	m.Put(gemini.Record{Lane: "gemini/p/global/m", Class: "bulk", Method: "generateContent", Permit: "x", Sent: true, Status: 200,
		FirstMS: 1, TookMS: 2, MicroUSD: &cost, Usage: &gemini.Usage{}, Degraded: &gemini.Degradation{}, Refusal: limiter.ReasonQuota})
	m.Put(gemini.Record{Lane: "gemini/p/global/m", Class: "bulk", Sent: true, Status: 418, Verdict: gemini.Unknown})
}

var (
	metricName = regexp.MustCompile(`nightshift_[a-z0-9_]+`)
	selected   = regexp.MustCompile(`(nightshift_[a-z0-9_]+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	groupedBy  = regexp.MustCompile(`(?:by|on)\s*\(([^)]*)\)`)
)

// notYet are told from what only happens in calls and histories that this rig has
// not: their names stand in scheduler's descriptions.
var notYet = map[string][]string{
	"nightshift_health_p95_seconds": {"class"}, "nightshift_health_first_token_p95_seconds": {"class"},
	"nightshift_health_refused_ratio": {"class"}, "nightshift_health_calls": {"class"},
	"nightshift_rows_enqueued_total": {"class"}, "nightshift_rows_ended_total": {"class", "state"},
	"nightshift_worker_fleet_slots": {"model"}, "nightshift_worker_fleet_slots_busy": {"model"},
}

// TestDeployedQueriesAreOfMetricsThatThereAre: a dashboard with a misspelt name shows
// nothing, and an alert with one never fires.
func TestDeployedQueriesAreOfMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	there, _ := toldByFleet(t)
	descs := scheduler.FleetMetricNames()
	for name, labels := range notYet {
		if !slices.Contains(descs, name) {
			t.Errorf("%s is no metric of the fleet", name)
		}
		there[name] = map[string]bool{}
		for _, l := range labels {
			there[name][l] = true
		}
	}
	for where, q := range queries(t) {
		checkQuery(t, there, where, q)
	}
}

func checkQuery(t *testing.T, there map[string]map[string]bool, where, q string) {
	t.Helper()
	all := map[string]bool{"le": true}
	for _, name := range metricName.FindAllString(q, -1) {
		base := name
		if there[name] == nil {
			base = strings.TrimSuffix(name, "_bucket")
		}
		if there[base] == nil {
			t.Errorf("%s: there is no metric %s", where, name)
		}
		maps.Copy(all, there[base])
	}
	for _, m := range selected.FindAllStringSubmatch(q, -1) {
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if labels := there[strings.TrimSuffix(m[1], "_bucket")]; !labels[l[1]] {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, m := range groupedBy.FindAllStringSubmatch(q, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !all[l] {
				t.Errorf("%s: none of its metrics has the label %s", where, l)
			}
		}
	}
}

// TestAlertsSayWhatToDo: each has a severity, a summary and a command.
func TestAlertsSayWhatToDo(t *testing.T) {
	t.Parallel()
	n := 0
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				continue
			}
			n++
			if _, err := time.ParseDuration(orElse(r.For, "0s")); err != nil || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["command"] == "" {
				t.Errorf("%+v lacks something", r)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d rules", n)
	}
}

// TestPromtoolTakesTheQueries: the rules with their own tests, and the dashboard's
// expressions, where promtool is installed (Debian's package prometheus).
func TestPromtoolTakesTheQueries(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	rules := strings.Builder{}
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, q := range queries(t) {
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		rules.WriteString("  - record: nightshift:query\n    labels: {n: \"" + digest(q) + "\"}\n    expr: " + string(text) + "\n")
	}
	file := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", file, deployDir + "alerts.yaml"}, {"test", "rules", deployDir + "alerts_test.yaml"}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestMetricNamesAreGood: by Prometheus's own rules.
func TestMetricNamesAreGood(t *testing.T) {
	t.Parallel()
	_, reg := toldByFleet(t)
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "nightshift_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
