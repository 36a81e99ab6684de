package limiter

import (
	"fmt"
	"reflect"
	"testing"
)

// Many states in one go are what each is by itself, in order; a lane that is not there is
// left out.
func TestStatesAreEach(t *testing.T) {
	onEach(t, func(b *bench) {
		conf := Config{Scope: b.scope, Classes: classes, Nodes: map[string]Limits{"tenant/*": {USDPerMonth: 1_000_000}, "tenant/own": {USDPerDay: 500_000}}}
		var lanes []Lane
		for i := range viewsAtOnce + 4 {
			l := b.lane
			l.Model = fmt.Sprintf("m%02d", i)
			conf.Lanes, lanes = append(conf.Lanes, LaneConfig{Lane: l, Limits: Limits{RPM: int64(100 + i)}}), append(lanes, l)
		}
		b.must(b.Configure(b.Context(), conf))
		nodes := []string{"tenant/own", "tenant/unseen"}
		for i, l := range lanes {
			q := b.request("interactive", usd(100+int64(i)))
			q.Lane, q.ID, q.Path.Tenant = l, fmt.Sprint("c", i), fmt.Sprintf("t%02d", i)
			b.granted(q)
			nodes = append(nodes, "tenant/"+q.Path.Tenant)
		}
		b.must(b.Pause(b.Context(), Pause{Class: "bulk", Reason: "operator", Owner: "ana"}))
		away := b.lane
		away.Model = "away"
		many := b.gate.(capped)
		got, err := many.States(b.Context(), append([]Lane{away}, lanes...))
		b.must(err)
		if len(got) != len(lanes) {
			b.Fatalf("%d states of %d lanes", len(got), len(lanes))
		}
		for i, l := range lanes {
			want, err := b.State(b.Context(), l)
			b.must(err)
			if !reflect.DeepEqual(got[i], want) {
				b.Errorf("%s is\n%+v, by itself\n%+v", l, got[i], want)
			}
		}
		of, err := many.NodeStates(b.Context(), append([]string{"feature/nobody"}, nodes...))
		b.must(err)
		if len(of) != len(nodes) {
			b.Fatalf("%d states of %d nodes", len(of), len(nodes))
		}
		for i, node := range nodes {
			want, err := b.NodeState(b.Context(), node)
			b.must(err)
			if !reflect.DeepEqual(of[i], want) {
				b.Errorf("%s is\n%+v, by itself\n%+v", node, of[i], want)
			}
		}
	})
}
