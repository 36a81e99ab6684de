package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

// evening is a lane in which bulk has borrowed: of 1,000 requests, 50 outside,
// interactive uses 10 and has 100 reserved of its guarantee of 300.
func evening() limiter.LaneState {
	l := limiter.LimitState{
		Limit: limiter.Limit{Unit: limiter.Requests, Amount: 1000}, Name: "rpm", Source: "nightshift.yaml", Effective: 950, Outside: 50,
		Used: 810, Booked: 4310, NextFree: at(22, 0).Add(20 * time.Second),
		Classes: []limiter.ClassUse{
			{Class: "interactive", Used: 10, Protected: 100, Lent: 200, Room: 140, Why: "floor 10 %"},
			{Class: "agent", Why: ""},
			{Class: "bulk", Used: 800, Room: 40},
		},
	}
	tokens := l
	tokens.Name, tokens.Unit, tokens.Used, tokens.Booked = "input_tpm", limiter.InputTokens, 90, 0
	tokens.Source = "quota set by ada, 21:40"
	tokens.Classes = []limiter.ClassUse{{Class: "interactive", Protected: 100, Lent: 200, Room: 860, Why: "floor 10 %"}, {Class: "agent"}, {Class: "bulk", Used: 90, Room: 760}}
	path := limiter.Path{Tenant: "acme", Team: "search", Run: "tags-7f3k", Priority: limiter.High}
	return limiter.LaneState{
		Lane: limiter.Lane{Provider: "gemini", Project: "shop", Region: "global", Model: "gemini-3.5-flash"}, At: at(22, 0), InFlight: 12,
		Limits: []limiter.LimitState{l, tokens},
		Leaves: []limiter.LeafState{
			{Class: "bulk", Leaf: limiter.Path{}.Leaf(), Weight: 1},
			{Class: "bulk", Leaf: path.Leaf(), Weight: 4, SharePPM: 1_000_000, Waiting: 4310, Booked: limiter.Amounts{4310, 172_400}},
		},
	}
}

func showing(output string) (*showOptions, *bytes.Buffer) {
	var b bytes.Buffer
	f := &factory{streams: &streams{Out: &b, Err: &b}, now: func() time.Time { return at(22, 0) }}
	f.opts.output = output
	return &showOptions{factory: f}, &b
}

// TestShowLane is what quota show prints of a lane. No line is wider than 100
// columns.
func TestShowLane(t *testing.T) {
	t.Parallel()
	o, b := showing("table")
	if err := o.show(&quotaView{Lanes: []limiter.LaneState{evening()}}); err != nil {
		t.Fatal(err)
	}
	want := `gemini/shop/global/gemini-3.5-flash  12 in flight, 4,310 waiting
LIMIT      USED    FULL  ENFORCED    SET  BOOKED  NEXT FREE  SOURCE
rpm         810  85.3 %       950  1,000   4,310  in 20s     nightshift.yaml
input_tpm    90   9.5 %       950  1,000       0  in 20s     quota set by ada, 21:40

classes
CLASS        LIMIT      USED  RESERVED  LENT  BORROWED  ROOM
interactive  rpm          10       100   200         0   140
             input_tpm     0       100   200         0   860
bulk         rpm         800         0     0       150    40
             input_tpm    90         0     0         0   760

lines, the longest first
LINE                                           CLASS  WEIGHT  SHARE  WAITING  REQUESTS  INPUT TOKENS
tenant acme, team search, run tags-7f3k, high  bulk        4  100 %    4,310     4,310       172,400

interactive (rpm, input_tpm): floor 10 %
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// TestShowNodes: nodes with limits come after the lanes, the fullest first, with
// what the provider lowered and what only watches.
func TestShowNodes(t *testing.T) {
	t.Parallel()
	o, b := showing("table")
	limit := func(used int64) limiter.LimitState {
		return limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Requests, Amount: 200}, Name: "rpm", Effective: 200, Used: used, NextFree: at(22, 0),
			Classes: []limiter.ClassUse{{Class: "interactive", Used: used / 10}, {Class: "bulk", Used: used - used/10}}}
	}
	low, full := limit(20), limit(200)
	low.Shadow, low.Shadowed, low.Source = true, 7, "quota set by ada, 21:40"
	full.Lowered = &limiter.Lowering{PPM: 100_000, Until: at(22, 10)}
	v := &quotaView{more: 3, Nodes: []limiter.NodeState{
		{Node: "tenant/acme", From: "tenant/*", At: at(22, 0), Limits: []limiter.LimitState{full}},
		{Node: "team/search", From: "team/search", At: at(22, 0), Limits: []limiter.LimitState{low}},
	}, Lanes: []limiter.LaneState{{}}}
	o.showNodes(v)
	want := `
nodes, the fullest first
NODE                    LIMIT  USED     FULL  ENFORCED  SET  NEXT FREE  BY
tenant/acme (tenant/*)  rpm     200  100.0 %       200  200  now        bulk 180, interactive 20
team/search             rpm      20   10.0 %    shadow  200  now        bulk 18, interactive 2
and 3 nodes that were not looked at
tenant/acme: rpm is lowered by 10 % after the provider refused what was admitted; all of it is back at 22:10:00 ` + here() + ` if it refuses no more
team/search: rpm: quota set by ada, 21:40
team/search: rpm is in shadow and refuses nothing; it would have refused 7 calls
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
	if fullness(v.Nodes[0]) <= fullness(v.Nodes[1]) {
		t.Error("the full one is not the fullest")
	}
	for name, want := range map[string]bool{"tenant/acme": true, "run/7": true, "gemini/p/global/m": false, "gemini-3.5-flash": false, "tenant/": false} {
		if isNode(name) != want {
			t.Errorf("%s is a node: %v", name, !want)
		}
	}
}

// here is what this machine's zone is called at the time of these tests.
func here() string { return at(22, 0).Local().Format("MST") }

// TestNextFree: what leaves a limit that is over full gives nobody room.
func TestNextFree(t *testing.T) {
	t.Parallel()
	l := evening().Limits[0]
	l.NextFree = at(22, 0)
	for used, want := range map[int64]string{810: "now", 950: "now", 951: ""} {
		l.Used = used
		if got := nextFree(l, at(22, 0), at(22, 0)); got != want {
			t.Errorf("%d of %d used: %q, want %q", used, l.Effective, got, want)
		}
	}
	l.Used = 951 // the map above may have ended with another
	if got, want := nextRoom(l, at(22, 0), at(22, 0)), "when enough of that has left its window"; got != want {
		t.Errorf("room comes %q, want %q", got, want)
	}
	l.Window = limiter.Day
	if got := nextFree(l, at(22, 0), at(22, 0)); got != "all at 22:00:00 "+here() {
		t.Errorf("a day's: %q", got)
	}
}

// TestShowSet: what was set is listed with its undoing; a lane or class that is
// gone is said to be.
func TestShowSet(t *testing.T) {
	t.Parallel()
	o, b := showing("table")
	lane := evening().Lane
	conf := limiter.Config{Lanes: []limiter.LaneConfig{{Lane: lane}}, Classes: []limiter.Class{{Name: "bulk"}}}
	v := &quotaView{}
	for _, x := range []limiter.Override{
		{Node: lane.String(), Name: "rpm", Value: 300, By: "ada", At: at(21, 40)},
		{Node: lane.String(), Name: "input_tpm", Value: 20_000, Source: limiter.SourceProvider, At: at(21, 50)},
		{Node: lane.String(), Name: "concurrency", Value: 10_000, Source: limiter.SourceProvider, At: at(21, 55)},
		{Node: "class/gone", Name: "guarantee", Value: 200_000, By: "bob", At: at(20, 0)},
		{Node: "tenant/acme", Name: "rpm", Value: 200, By: "bob", At: at(20, 0)},
	} {
		v.Set = append(v.Set, setValue{x, absent(conf, x)})
	}
	o.showSet(v)
	want := `
set over the configuration, times in ` + zoneName(time.Local, at(22, 0)) + `
TARGET            VALUE                       BY                               AT        TO UNDO
gemini-3.5-flash  rpm 300                     ada                              21:40:00  nightshift quota unset gemini-3.5-flash rpm
gemini-3.5-flash  input_tpm 20,000            the provider's 429               21:50:00  nightshift quota unset gemini-3.5-flash input_tpm
gemini-3.5-flash  concurrency as it has room  the provider's want of capacity  21:55:00  nightshift quota unset gemini-3.5-flash concurrency
class/gone        guarantee 20 %              bob                              20:00:00  nightshift quota unset class/gone guarantee
tenant/acme       rpm 200                     bob                              20:00:00  nightshift quota unset tenant/acme rpm
class/gone is not configured now: its guarantee has no effect until it is
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

// TestBorrowed: what a class has of what others lend is what would have to end if
// they claimed their guarantees; the lowest class borrowed it.
func TestBorrowed(t *testing.T) {
	t.Parallel()
	classes := func(a, b, c limiter.ClassUse) []limiter.ClassUse { return []limiter.ClassUse{a, b, c} }
	lends := limiter.ClassUse{Used: 10, Protected: 100, Lent: 200}
	for _, c := range []struct {
		name string
		l    limiter.LimitState
		want []int64
	}{
		{"nobody lends", limiter.LimitState{Effective: 900, Used: 900, Classes: classes(limiter.ClassUse{Used: 300, Protected: 300}, limiter.ClassUse{}, limiter.ClassUse{Used: 600})}, []int64{0, 0, 0}},
		{"all fits", limiter.LimitState{Effective: 900, Used: 610, Classes: classes(lends, limiter.ClassUse{}, limiter.ClassUse{Used: 600})}, []int64{0, 0, 0}},
		{"bulk borrows", limiter.LimitState{Effective: 900, Used: 710, Classes: classes(lends, limiter.ClassUse{}, limiter.ClassUse{Used: 700})}, []int64{0, 0, 100}},
		{"the lowest first", limiter.LimitState{Effective: 900, Used: 760, Classes: classes(lends, limiter.ClassUse{Used: 700}, limiter.ClassUse{Used: 50})}, []int64{0, 100, 50}},
	} {
		if got := borrowed(c.l); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestShowLines: where there is no terminal a look is a line for each limit.
func TestShowLines(t *testing.T) {
	t.Parallel()
	o, b := showing("table")
	o.showLines(&quotaView{At: at(22, 0), Lanes: []limiter.LaneState{evening()}})
	want := "22:00:00 " + here() + " gemini-3.5-flash rpm: 810 of 950 used, interactive 10, bulk 800 (150 borrowed); 4,310 booked\n" +
		"22:00:00 " + here() + " gemini-3.5-flash input_tpm: 90 of 950 used, bulk 90; 0 booked\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

// TestRepainted: a look covers the one before, and never scrolls.
func TestRepainted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		width, height int
		want          string
	}{
		{"a\nb\n", 10, 4, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		{"a long line", 6, 4, "\x1b[Ha lon…\x1b[K\n\x1b[J"},
		{"1\n2\n3\n4\n5", 20, 4, "\x1b[H1\x1b[K\n2\x1b[K\n… 3 more lines\x1b[K\n\x1b[J"},
	} {
		if got := repainted(c.text, c.width, c.height); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestAgain: the first look's error ends a watch, a later one does not.
func TestAgain(t *testing.T) {
	t.Parallel()
	o, b := showing("table")
	away := errors.New("no Redis")
	if err := o.again(t.Context(), time.Second, func() error { return away }); !errors.Is(err, away) {
		t.Errorf("the first look: %v", err)
	}
	looks := 0
	ctx, stop := context.WithCancel(t.Context())
	err := o.again(ctx, 100*time.Millisecond, func() error {
		switch looks++; looks {
		case 2:
			return away
		case 3:
			stop()
		}
		return nil
	})
	if err != nil || looks != 3 || !strings.Contains(b.String(), "22:00:00 "+here()+": no Redis") {
		t.Errorf("%d looks, %v: %s", looks, err, b)
	}
}

// TestCallersInPlace: those who wait in place are told by whom and how many, beside
// the lines.
func TestCallersInPlace(t *testing.T) {
	t.Parallel()
	s := evening()
	who := limiter.Path{Tenant: "acme", Key: "k_1"}.Leaf()
	for range 2 {
		s.InPlace = append(s.InPlace, limiter.InPlace{Class: "interactive", Leaf: who, Amounts: limiter.Amounts{1, 40}})
	}
	var b bytes.Buffer
	section(&b, "lines", lineTable(whoWaits(s)))
	want := `
lines
LINE                                           CLASS        WEIGHT     SHARE  WAITING  REQUESTS  INPUT TOKENS
tenant acme, team search, run tags-7f3k, high  bulk              4     100 %    4,310     4,310       172,400
tenant acme, key k_1                           interactive          in place        2         2            80
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
