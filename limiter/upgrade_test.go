package limiter

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// oldScope is what a program of schema 2 left behind that did what useOld does:
// every hash of its scope but the permits and leases, which have not changed since.
//
//go:embed testdata/schema2.json
var oldScope []byte

// useOld spends from a lane and a tenant, half a minute of calls in all kinds of
// windows, of which every third settles for less.
func useOld(b *bench) {
	b.lane.Project, b.scope.Project = "old", "old"
	b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: classes,
		Lanes: []LaneConfig{{Lane: b.lane, Lend: "now", Limits: Limits{RPM: 900, InputTPM: 900_000, USDPer10m: 50_000_000, RPD: 5_000, USDPerMonth: 90_000_000}}},
		Nodes: map[string]Limits{"tenant/*": {RPM: 500, USDPer10m: 40_000_000, USDPerDay: 80_000_000}}}))
	for i := range 40 {
		q := b.request([]string{"interactive", "bulk"}[i%2], Amounts{Requests: 1, InputTokens: 700 + int64(i), MicroUSD: 90_000})
		q.Path.Tenant = "acme"
		p := b.granted(q)
		if i%3 == 0 {
			b.settle(p, Amounts{Requests: 1, InputTokens: 300, MicroUSD: 40_000})
		} else {
			b.settle(p, p.Amounts)
		}
		b.wait(770 * time.Millisecond)
	}
}

// TestUpgrade: whatever an older program's ledgers have used counts on, and leaves
// its windows when it should have.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"real", "embedded"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			want, got := newBench(t, "model"), newBench(t, kind)
			want.gate = NewModel(Scope{Provider: want.scope.Provider, Project: "old"}, noon)
			useOld(want)
			got.revive()
			got.now = want.now
			for range 70 {
				equalStates(t, want, got)
				want.wait(10 * time.Second)
				got.wait(10 * time.Second)
			}
		})
	}
}

// revive writes the old scope into a gate of its own.
func (b *bench) revive() {
	b.Helper()
	r := b.gate.(*Redis)
	b.scope.Project, b.lane.Project = "old", "old"
	r.scope, r.keys = b.scope, newKeys(b.scope)
	var hashes map[string]map[string]string
	b.must(json.Unmarshal(oldScope, &hashes))
	for name, fields := range hashes {
		b.must(r.rdb.HSet(b.Context(), r.keys.prefix+name, fields).Err())
	}
}

func equalStates(t *testing.T, want, got *bench) {
	t.Helper()
	for _, look := range []func(b *bench) (any, error){
		func(b *bench) (any, error) { return b.State(t.Context(), b.lane) },
		func(b *bench) (any, error) { return b.NodeState(t.Context(), "tenant/acme") },
	} {
		x, err1 := look(want)
		y, err2 := look(got)
		if err1 != nil || err2 != nil {
			t.Fatalf("after %s: %v, %v", want.now.Sub(noon), err1, err2)
		}
		if a, b := asText(x), asText(y); a != b {
			t.Fatalf("after %s:\n got %s\nwant %s", want.now.Sub(noon), b, a)
		}
	}
}

func asText(v any) string {
	text, err := json.Marshal(v)
	return strings.ReplaceAll(fmt.Sprint(string(text), err), "},", "},\n")
}
