package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/limiter/gemini"
)

// spender is somebody who spent money, and how much.
type spender struct {
	Name         string `json:"name"` // "" where calls had none
	MicroUSD     int64  `json:"micro_usd"`
	Calls        int64  `json:"calls"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`

	title string // of a run: its name
}

// spentBy are the ways to tell spenders apart.
var spentBy = []struct {
	name string
	of   func(gemini.MoneySample) string
}{
	{"feature", func(s gemini.MoneySample) string { return s.Feature }},
	{"tenant", func(s gemini.MoneySample) string { return s.Tenant }},
	{"model", func(s gemini.MoneySample) string { return s.Model }},
	{"run", func(s gemini.MoneySample) string { return s.Run }},
	{"tier", func(s gemini.MoneySample) string { return s.Tier }},
	{"class", func(s gemini.MoneySample) string { return s.Class }},
	{"day", func(s gemini.MoneySample) string { return s.Day }},
}

func spenders() (out []string) {
	for _, x := range spentBy {
		out = append(out, x.name)
	}
	return out
}

// spendersOf adds samples up, the dearest first; days in their order.
func spendersOf(samples []gemini.MoneySample, by string) []spender {
	at := slices.IndexFunc(spentBy, func(x struct {
		name string
		of   func(gemini.MoneySample) string
	}) bool {
		return x.name == by
	})
	sums, out := map[string]*spender{}, []spender{}
	for _, s := range samples {
		name := spentBy[at].of(s)
		x := sums[name]
		if x == nil {
			x = &spender{Name: name}
			sums[name] = x
		}
		x.MicroUSD, x.Calls = x.MicroUSD+s.MicroUSD, x.Calls+s.Calls
		x.InputTokens, x.OutputTokens = x.InputTokens+s.InputTokens, x.OutputTokens+s.OutputTokens
	}
	for _, x := range sums {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b spender) int {
		if by == "day" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.MicroUSD, a.MicroUSD), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// nameSpenders gives runs the names that people know.
func (v *spending) nameSpenders() {
	if v.By != "run" {
		return
	}
	for i := range v.Spenders {
		v.Spenders[i].title = v.titles[v.Spenders[i].Name]
	}
}

// runTitles are what people call runs, by their ids; also those that were purged, which
// say so.
func (b *backend) runTitles(ctx context.Context) (map[string]string, error) {
	runs, err := b.store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	titles, err := b.store.PurgedNames(ctx)
	if err != nil {
		return nil, err
	}
	for id, name := range titles {
		titles[id] = name + " (purged)"
	}
	for _, r := range runs {
		titles[r.ID] = r.Title()
	}
	return titles, nil
}

// shownNode is a node as people know it: a run by its name.
func (v *spending) shownNode(node string) string {
	if id, is := strings.CutPrefix(node, "run/"); is && v.titles[id] != "" {
		return "run " + v.titles[id]
	}
	return shownTarget(node)
}

func (v *spending) byTable() *dataTable {
	t := newTable(spendHeads[v.By], "SPENT", "SHARE", "CALLS", "INPUT TOKENS", "OUTPUT TOKENS").numeric(1, 2, 3, 4, 5)
	for _, s := range v.Spenders {
		t.row(orElse(s.title, orElse(s.Name, "(none)")), exact(s.MicroUSD), percent(ratio(s.MicroUSD, v.MicroUSD)), humanize.Comma(s.Calls),
			humanize.Comma(s.InputTokens), humanize.Comma(s.OutputTokens))
	}
	if len(v.Spenders) > 1 {
		t.row("all", exact(v.MicroUSD), "", humanize.Comma(v.Calls), "", "")
	}
	return t
}

var spendHeads = map[string]string{"feature": "FEATURE", "tenant": "TENANT", "model": "MODEL", "run": "RUN", "tier": "TIER", "class": "CLASS", "day": "DAY"}
